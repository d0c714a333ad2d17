import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { peakMemoryBytes } from '@mayfly/testing/proc';

const SOURCE = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url));

export type CliOptions = {
  cwd: string;
  env?: Record<string, string>;
  /** Bytes for stdin, the path of a file of them, or a stream. */
  stdin?: Buffer | { path: string } | Readable;
  /** Hears what comes on stdout as it comes. */
  onOut?: (text: string) => void;
  /** Sent this signal as soon as this is true. */
  signalWhen?: { signal: NodeJS.Signals; isTime: () => Promise<boolean> };
  program?: string;
};

export type CliResult = { code: number; stdout: Buffer; out: string; err: string; peakBytes: number };

/** Runs the command line as a program does: no terminal, an environment of its own. */
export async function runCli(args: string[], options: CliOptions): Promise<CliResult> {
  const { cwd, env = {}, stdin, onOut, signalWhen, program = SOURCE } = options;
  const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    // A group without a terminal: nobody can be asked.
    detached: true,
    env: { PATH, HOME: cwd, TMPDIR, NODE_COMPILE_CACHE, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let peakBytes = 0;
  let isSignalled = false;
  const watch = setInterval(async () => {
    peakBytes = Math.max(peakBytes, peakMemoryBytes(child.pid));
    if (!signalWhen || isSignalled || !(await signalWhen.isTime()) || isSignalled) return;
    isSignalled = true; // a second signal would end it without cleaning up
    child.kill(signalWhen.signal);
  }, 50);
  const feeding =
    stdin && !Buffer.isBuffer(stdin)
      ? pipeline('path' in stdin ? createReadStream(stdin.path) : stdin, child.stdin).catch(() => {}) // the command may end before its input
      : child.stdin.end(stdin);
  if (onOut) child.stdout.on('data', (bytes) => onOut(String(bytes)));
  try {
    const [stdout, stderr, [code]] = await Promise.all([
      buffer(child.stdout),
      buffer(child.stderr),
      once(child, 'exit'),
      feeding,
    ]);
    return { code: code ?? -1, stdout, out: stdout.toString(), err: stderr.toString(), peakBytes };
  } finally {
    clearInterval(watch);
    child.kill('SIGKILL');
  }
}
