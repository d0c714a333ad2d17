import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

// RELEASING.md: the version is that of the root package.json.

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const versionIn = (file: string) => JSON.parse(read(file)).version as string;
const version = versionIn('package.json');

test.each(globSync(['{apps,libs,services}/*/package.json', '{bench,test}/package.json'], { cwd: root }))(
  '%s has the version of the root package.json, if it has one',
  (file) => {
    expect(versionIn(file) ?? version).toBe(version);
  },
);

test.each([
  ['Dockerfile', `ARG VERSION=${version}\n`],
  ['docker-compose.yml', `\${MAYFLY_VERSION:-${version}}`],
  ['deploy/k8s/overlays/production/kustomization.yaml', `newTag: ${version}\n`],
  ['deploy/k8s/overlays/production-gateway-api/kustomization.yaml', `newTag: ${version}\n`],
])('%s names that version', (file, text) => {
  expect(read(file)).toContain(text);
});
