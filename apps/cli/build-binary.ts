import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

// Puts the command and the Node that runs this into one file in dist, for Linux machines without Node. Needs `strip`, of binutils: Node
// comes with its table of symbols, a fifth of its size.

const MOST_BYTES = 120_000_000;

if (process.platform !== 'linux') throw new Error('The binary is made on Linux, for the processor that it is made on');
await import('./build.ts'); // empties dist
const run = promisify(execFile);
const here = import.meta.dirname;
const { version } = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
const output = join(here, 'dist', `mayfly-${version}-linux-${process.arch}`);
const work = await mkdtemp(join(tmpdir(), 'mayfly-binary-'));
try {
  const executable = join(work, 'node');
  await run('strip', ['-o', executable, process.execPath]);
  const config = {
    main: join(here, 'dist', 'mayfly.js'),
    mainFormat: 'module',
    executable,
    output,
    disableExperimentalSEAWarning: true,
    execArgv: ['--max-semi-space-size=1'],
    execArgvExtension: 'none', // its options are those of the command, whatever NODE_OPTIONS says
  };
  await writeFile(join(work, 'config.json'), JSON.stringify(config));
  await run(process.execPath, ['--build-sea', join(work, 'config.json')]);
} finally {
  await rm(work, { recursive: true });
}
const { stdout } = await run(output, ['--version'], { env: {} });
if (stdout.trim() !== version) throw new Error(`It says that it is version ${stdout}`);
const { size } = await stat(output);
if (size > MOST_BYTES) throw new Error(`It has ${size} bytes, more than ${MOST_BYTES}`);
process.stdout.write(`${output}  ${size} bytes\n`);
