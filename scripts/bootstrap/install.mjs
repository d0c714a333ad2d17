import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { childEnvironment } from './environment.mjs';
import { withLock } from './lock.mjs';
import { Problem, step } from './progress.mjs';
import { runTool } from './run-child.mjs';
import { getPnpm } from './toolchain.mjs';

/** Installs the dependencies of the lockfile, unless just these are installed. */
export async function installDependencies(root, node) {
  if (isInstalled(root)) return;
  await withLock(root, 'install', async () => {
    if (isInstalled(root)) return; // by the start that held the lock
    const pnpm = await getPnpm(root);
    await step('Installing the dependencies', () => install(root, node, pnpm));
    writeFileSync(stampFile(root), stamp(root));
  });
}

async function install(root, node, pnpm) {
  const args = [pnpm, 'install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only'];
  // CI: there is nobody to answer a question.
  const env = childEnvironment(dirname(node), { CI: 'true', NO_UPDATE_NOTIFIER: '1' });
  const { code, stdout, stderr } = await runTool(node, args, { cwd: root, env });
  if (code !== 0) {
    const lines = `${stdout}\n${stderr}`.trim().split('\n').slice(-15);
    throw new Problem(
      `${lines.join('\n')}\nThe dependencies could not be installed (pnpm ended with code ${code}, see above).`,
    );
  }
}

/** In node_modules, so that it goes when they go. */
const stampFile = (root) => join(root, 'node_modules', '.mayfly-installed');

function isInstalled(root) {
  return existsSync(stampFile(root)) && readFileSync(stampFile(root), 'utf8') === stamp(root);
}

/** Changes with everything that decides what is installed. */
function stamp(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc', 'package.json', ...packageFiles(root)];
  for (const file of files) {
    const path = join(root, file);
    hash.update(`\n${file}\n`).update(existsSync(path) ? readFileSync(path) : '');
  }
  return hash.digest('hex');
}

/** The package.json of every workspace package: the patterns are folders, or folders with a star for their children. */
function packageFiles(root) {
  const [, list = ''] =
    /^packages:\n((?: +- .*\n)+)/m.exec(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) ?? [];
  const patterns = [...list.matchAll(/- ["']?([^"'\s]+)/g)].map(([, pattern]) => pattern);
  const folders = patterns.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern];
    const parent = pattern.slice(0, -2);
    return existsSync(join(root, parent))
      ? readdirSync(join(root, parent))
          .sort()
          .map((name) => join(parent, name))
      : [];
  });
  return folders.map((folder) => join(folder, 'package.json')).filter((file) => existsSync(join(root, file)));
}
