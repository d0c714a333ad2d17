import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

// npm run sbom: what is in a release, in CycloneDX, in the folder sbom. Decision reasons-for-dependencies.

/** Installs nothing: it only reads the lockfile and what is installed. */
const PNPM = 'pnpm@12.21.0';
const root = resolve(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** What is listed, and packages of this workspace that must be in it. */
const LISTS = {
  service: {
    filter: ['--prod', '--filter-prod', '@mayfly/all...'],
    of: ['gateway', 'files', 'notes', 'janitor', 'store'],
  },
  web: { filter: ['--prod', '--filter-prod', '@mayfly/web...'], of: ['client', 'vocabulary'] },
  // It bundles what it names for development, so the tools that build and test it are in the list.
  cli: { filter: ['--filter', 'mayfly-cli'], of: ['client', 'vocabulary'] },
};

type Component = { group?: string; name: string; licenses?: unknown[]; externalReferences?: { hashes?: unknown[] }[] };

const folder = join(root, 'sbom');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [name, { filter, of }] of Object.entries(LISTS)) {
  const path = join(folder, `mayfly-${name}-${version}.cdx.json`);
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', ...filter, '--out', path];
  const child = spawn('npx', ['--yes', PNPM, ...args], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${PNPM} has ended with ${code}`);
  const count = check(JSON.parse(readFileSync(path, 'utf8')).components, of);
  console.log(`${path}: ${count} packages`);
}

/** Throws when a package is missing, or has no licence; or no hash, unless it is ours. Returns how many there are. */
function check(components: Component[], ours: string[]): number {
  const isOurs = ({ group }: Component) => group === '@mayfly';
  const missing = ours.filter((name) => !components.some((one) => isOurs(one) && one.name === name));
  const bare = components.filter((one) => {
    const isHashed = one.externalReferences?.some(({ hashes }) => hashes?.length) ?? false;
    return !one.licenses?.length || !(isHashed || isOurs(one));
  });
  const wrong = [...missing, ...bare.map(({ name }) => name)];
  if (wrong.length > 0) throw new Error(`missing, or without licence or hash: ${wrong.join(', ')}`);
  return components.length;
}
