import { copyFile, rm } from 'node:fs/promises';
import { rolldown } from 'rolldown';

// Bundles the kit into dist/mayfly-conformance.js, which needs nothing but Node, with the vectors beside it.

const here = import.meta.dirname;
await rm(`${here}/dist`, { recursive: true, force: true });
const bundle = await rolldown({ input: `${here}/src/main.ts`, platform: 'node', transform: { target: 'node22' } });
await bundle.write({
  dir: `${here}/dist`,
  entryFileNames: 'mayfly-conformance.js',
  format: 'es',
  codeSplitting: false,
});
await copyFile(`${here}/../../LICENSE`, `${here}/dist/LICENSE`);
await copyFile(`${here}/../../docs/vectors/vectors.json`, `${here}/dist/vectors.json`);
