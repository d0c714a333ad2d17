import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stopServersBelow } from '@mayfly/local-stores/own-folder';
import { say } from './progress.ts';
import { parentFromNpm } from './start/lean.ts';
import { stopRequest } from './start/stop-request.ts';
import type { Counts } from './test/counts-reporter.ts';

// npm test: all tests, or those whose path holds an argument (npm test -- libs/store). vitest starts the stores.

const root = resolve(import.meta.dirname, '..');

const stopped = stopRequest(parentFromNpm());

/** Everything temporary of this run lies in one folder, so that nothing of it can be left behind. */
const folder = mkdtempSync(join(tmpdir(), 'mayfly-tests-'));
chmodSync(folder, 0o755); // PostgreSQL runs as another account when root starts it

const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)], {
  cwd: root,
  env: { ...process.env, TMPDIR: folder },
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
let counts: Counts | undefined;
child.on('message', (message) => {
  counts = message as Counts; // the reporter sends nothing else
});

stopped.signal.addEventListener('abort', () => {
  say('Stopping ...');
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
});

const code = await new Promise<number>((resolve) => child.once('exit', (exitCode) => resolve(exitCode ?? 1)));
await stopServersBelow(folder);
rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
if (stopped.signal.aborted) process.exit(130);

if (!counts) console.log('vitest ended without a result.');
const { passed, failed, skipped } = counts ?? { passed: 0, failed: 0, skipped: 0 };
if (counts && passed + failed === 0) console.log('No test was run.');
// Always the last line: people and machines read it.
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(code !== 0 || failed > 0 || passed === 0 ? 1 : 0);
