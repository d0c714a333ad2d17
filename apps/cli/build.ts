import { copyFile, rm } from 'node:fs/promises';
import { rolldown } from 'rolldown';

// Bundles the command into dist/mayfly.js, which needs nothing but Node.

const here = import.meta.dirname;
await rm(`${here}/dist`, { recursive: true, force: true });
const bundle = await rolldown({
  cwd: here, // else what comes out names the folder that it was started in
  input: 'src/main.ts',
  platform: 'node',
  transform: { target: 'node22' },
});
await bundle.write({ dir: `${here}/dist`, entryFileNames: 'mayfly.js', format: 'es', codeSplitting: false });
await copyFile(`${here}/../../LICENSE`, `${here}/dist/LICENSE`);
