import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

// npm run check: types, lint and format, unused code. All of them, so that one run shows everything that is wrong.

const root = resolve(import.meta.dirname, '..');

const CHECKS = [
  // First: it writes the types of the texts.
  { name: 'texts of the web app', program: '../apps/web/build/texts/check.ts', args: [] },
  { name: 'types', program: 'typescript/bin/tsc', args: ['--noEmit'] },
  { name: 'types of the browser tests', program: 'typescript/bin/tsc', args: ['--noEmit', '-p', 'test/web'] },
  {
    name: 'types of the web app',
    program: '../apps/web/node_modules/svelte-check/bin/svelte-check',
    args: ['--workspace', 'apps/web', '--tsconfig', './tsconfig.json', '--output', 'human', '--fail-on-warnings'],
  },
  { name: 'lint and format', program: '@biomejs/biome/bin/biome', args: ['check', '.'] },
  { name: 'unused code', program: 'knip/bin/knip.js', args: [] },
];

const failed: string[] = [];
for (const { name, program, args } of CHECKS) {
  const start = performance.now();
  const child = spawn(process.execPath, [join(root, 'node_modules', program), ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'passed' : 'FAILED'}: ${name} (${seconds} s)`);
  if (code !== 0) failed.push(name);
}
if (failed.length > 0) console.log(`Failed: ${failed.join(', ')}.`);
process.exit(failed.length > 0 ? 1 : 0);
