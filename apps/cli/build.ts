import { copyFile, readFile, rm } from 'node:fs/promises';
import { buildWebApp } from '@mayfly/web/build';
import { rolldown } from 'rolldown';

// Bundles the command into dist/mayfly.js, which needs nothing but Node, with the list of the web app's files of the same commit in it.

const here = import.meta.dirname;
const { folder } = await buildWebApp();
const release = await readFile(`${folder}/release.json`, 'utf8');
await rm(`${here}/dist`, { recursive: true, force: true });
const bundle = await rolldown({
  cwd: here, // else what comes out names the folder that it was started in
  input: 'src/main.ts',
  platform: 'node',
  transform: { target: 'node22', define: { PUBLISHED_RELEASE: JSON.stringify(release) } },
});
await bundle.write({ dir: `${here}/dist`, entryFileNames: 'mayfly.js', format: 'es', codeSplitting: false });
await copyFile(`${here}/../../LICENSE`, `${here}/dist/LICENSE`);
