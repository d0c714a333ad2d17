import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { docker, isWanted } from './project.ts';

// TEST_COMPOSE=yes npm test -- test/compose/image: what is in the image that the Dockerfile makes.

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** All that may lie beside the application. What Docker itself puts into a container is empty in the image. */
const SYSTEM = [
  /^usr\/local\/bin\/node$/,
  /^(usr\/)?lib(64)?\/(\w+-linux-gnu\/)?(ld-linux-[\w-]+|lib[a-z_+]+)\.so\.\d+$/,
  /^etc\/(passwd|group|nsswitch\.conf|os-release|debian_version)$/,
  /^usr\/share\/doc\/[\w.+-]+\/copyright$/,
  /^var\/lib\/dpkg\/status\.d\/[\w.+-]+$/,
  /^(\.dockerenv|dev\/console|etc\/(hosts|hostname|resolv\.conf|mtab))$/,
];

describe.skipIf(!isWanted)('the image', { timeout: 600_000 }, () => {
  const image = `mayfly-test-${randomBytes(4).toString('hex')}:local`;
  let files: string[];
  const inspect = (format: string) => docker('inspect', '-f', format, image);
  const node = (...args: string[]) => docker('run', '--rm', '--read-only', '--network', 'none', image, 'node', ...args);

  beforeAll(async () => {
    await docker('build', '-q', '-t', image, '.');
    const container = await docker('create', image);
    const listing = run('sh', ['-c', `docker export ${container} | tar -t`], { maxBuffer: 2 ** 28 });
    files = (await listing).stdout.split('\n').filter((name) => name !== '' && !name.endsWith('/'));
    await docker('rm', container);
  }, 600_000);
  afterAll(() => docker('image', 'rm', '-f', image));

  test('holds Node, the libraries that Node is linked with, the application, and nothing else that could be started', async () => {
    const others = files.filter((name) => !name.startsWith('app/') && !SYSTEM.some((known) => known.test(name)));
    expect(others).toEqual([]);
    const programs = await node(
      '--eval',
      `const { globSync, statSync } = require('node:fs');
       const all = globSync(['/app/**/.bin/*', '/app/**/*.{sh,so,exe}', '/usr/**', '/lib/**', '/lib64/**', '/etc/**', '/var/**']);
       console.log(all.filter((name) => statSync(name).isFile() && statSync(name).mode & 0o6111 && !/\\.so\\.\\d+$/.test(name)).join('\\n'))`,
    );
    expect(programs).toBe('/usr/local/bin/node');
    await expect(docker('run', '--rm', image, 'sh', '-c', 'true')).rejects.toThrow(/executable file not found/);
  });

  test('is small, one layer for Node and one for each part, not root, and labelled', async () => {
    expect(Number(await inspect('{{.Size}}'))).toBeLessThan(250e6);
    expect(await inspect('{{.Config.User}} {{.Config.StopSignal}}')).toBe('1000:1000 SIGTERM');
    expect(JSON.parse(await inspect('{{json .Config.Labels}}'))).toMatchObject({
      'org.opencontainers.image.licenses': 'AGPL-3.0-only',
    });
    expect(JSON.parse(await inspect('{{json .RootFS.Layers}}'))).toHaveLength(5);
  });

  test('names the Debian packages that its libraries are from, for scanners', async () => {
    const packages = files.flatMap((name) => /^var\/lib\/dpkg\/status\.d\/(.+)$/.exec(name)?.[1] ?? []);
    expect(packages).toEqual(expect.arrayContaining(['base-files', 'libc6', 'libstdc++6', 'libgcc-s1']));
    const status = await node('--print', "fs.readFileSync('/var/lib/dpkg/status.d/libc6', 'utf8')");
    expect(status).toMatch(/^Package: libc6\n(.*\n)*Version: \d/);
  });

  test('holds the npm packages that the lockfile names, all of them and no others', async () => {
    const installed = await node(
      '--eval',
      `const { globSync, readFileSync } = require('node:fs');
       const all = globSync('/app/node_modules/.pnpm/*/node_modules/{*,@*/*}/package.json', { exclude: (name) => name === '.bin' });
       const own = all.filter((path) => require('node:fs').realpathSync(path) === path);
       console.log(JSON.stringify(own.map((path) => JSON.parse(readFileSync(path, 'utf8'))).map(({ name, version }) => name + '@' + version)))`,
    );
    const locked = packagesOf('services/all');
    expect(locked.size).toBeGreaterThan(50);
    const { arch } = process;
    const forOthers = [...locked].filter(
      (name) => /-(linux|darwin|win32)-/.test(name) && !name.includes(`-linux-${arch}@`),
    );
    expect(new Set(JSON.parse(installed))).toEqual(locked.difference(new Set(forOthers)));
  });
});

type Dependencies = Record<string, { version: string } | string>;
type Lockfile = {
  importers: Record<string, { dependencies?: Dependencies; optionalDependencies?: Dependencies }>;
  packages: Record<string, { os?: string[]; cpu?: string[] }>;
  snapshots: Record<string, { dependencies?: Dependencies; optionalDependencies?: Dependencies }>;
};

/** What the lockfile has a package of this workspace need where it runs, directly or not. */
function packagesOf(importer: string): Set<string> {
  const lockfile = parse(readFileSync(resolve(root, 'pnpm-lock.yaml'), 'utf8')) as Lockfile;
  const found = new Set<string>();
  const seen = new Set<string>();
  function follow(entry: { dependencies?: Dependencies; optionalDependencies?: Dependencies } | undefined, at: string) {
    for (const [name, value] of Object.entries({ ...entry?.dependencies, ...entry?.optionalDependencies })) {
      const version = typeof value === 'string' ? value : value.version;
      const isOurs = version.startsWith('link:');
      const key = isOurs ? resolve('/', at, version.slice(5)).slice(1) : `${name}@${version}`;
      if (seen.has(key)) continue;
      seen.add(key);
      if (!isOurs) found.add(key.replace(/\(.*$/, ''));
      follow(isOurs ? lockfile.importers[key] : lockfile.snapshots[key], key);
    }
  }
  follow(lockfile.importers[importer], importer);
  return found;
}
