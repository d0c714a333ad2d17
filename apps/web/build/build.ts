import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { compress } from './compress.ts';
import { addIntegrity } from './integrity.ts';
import { writeRelease } from './release.ts';

const app = resolve(import.meta.dirname, '..');
const root = resolve(app, '../..');

/** Everything that decides what comes out. */
const SOURCES = [
  'apps/web/{src,public,build}/**/*.*',
  'apps/web/{index.html,package.json,vite.config.ts,svelte.config.js}',
  'libs/{client,vocabulary}/src/**/*.ts',
  'pnpm-lock.yaml',
];

/**
 * Builds the web app, unless it was built from just these sources. Returns its folder, for WEB_DIR. It appears there
 * complete or not at all.
 */
export async function buildWebApp(folder = join(app, 'dist')): Promise<{ folder: string; isNew: boolean }> {
  const stamp = hashSources();
  const stampFile = join(folder, '.built-from');
  const isBuilt = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
  if (isBuilt()) return { folder, isNew: false };
  const fresh = `${folder}.${process.pid}`;
  try {
    await buildForPeople(fresh);
    addIntegrity(fresh);
    copyFileSync(join(app, 'src/pages.json'), join(fresh, 'pages.json')); // for the service: which addresses are pages
    writeRelease(fresh, version());
    await compress(fresh);
    writeFileSync(join(fresh, '.built-from'), stamp);
    mkdirSync(resolve(folder, '..'), { recursive: true });
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } catch (error) {
    if (!isBuilt()) throw error; // else somebody else has built the same at the same time
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return { folder, isNew: true };
}

function version(): string {
  return JSON.parse(readFileSync(join(app, 'package.json'), 'utf8')).version;
}

/** What comes out is the same whoever asks: a test runner's NODE_ENV would make it a build for developers. */
async function buildForPeople(outDir: string) {
  const { build } = await import('vite'); // longer to load than to see that nothing has changed
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    await build({ configFile: join(app, 'vite.config.ts'), logLevel: 'warn', build: { outDir } });
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}

function hashSources(): string {
  const hash = createHash('sha256');
  const written = 'apps/web/src/**/*.d.ts'; // types, which the checks write
  for (const path of globSync(SOURCES, { cwd: root, exclude: [written] }).sort()) {
    hash.update(`\n${path}\n`).update(readFileSync(join(root, path)));
  }
  return hash.digest('hex');
}

if (import.meta.main) {
  const built = await buildWebApp();
  const { folder, isNew } = built;
  if (process.argv.includes('--json')) console.log(JSON.stringify(built));
  else console.log(`${isNew ? 'Built' : 'Already built, from the same sources'}: ${folder}`);
}
