import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url));

export type CliOptions = {
  cwd: string;
  env?: Record<string, string>;
  /** Bytes for stdin, or the path of a file of them. */
  stdin?: Buffer | { path: string };
  /** Sent this signal as soon as this is true. */
  signalWhen?: { signal: NodeJS.Signals; isTime: () => Promise<boolean> };
  program?: string;
};

export type CliResult = { code: number; stdout: Buffer; out: string; err: string; peakBytes: number };

/** Runs the command line as a program does: no terminal, an environment of its own. */
export async function runCli(args: string[], options: CliOptions): Promise<CliResult> {
  const { cwd, env = {}, stdin, signalWhen, program = SOURCE } = options;
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    // A group without a terminal: nobody can be asked.
    detached: true,
    env: { PATH: process.env.PATH, HOME: cwd, TMPDIR: process.env.TMPDIR, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let peakBytes = 0;
  let isSignalled = false;
  const watch = setInterval(async () => {
    peakBytes = Math.max(peakBytes, peakOf(child.pid));
    if (!signalWhen || isSignalled || !(await signalWhen.isTime()) || isSignalled) return;
    isSignalled = true; // a second signal would end it without cleaning up
    child.kill(signalWhen.signal);
  }, 50);
  const feeding =
    stdin && 'path' in stdin
      ? pipeline(createReadStream(stdin.path), child.stdin).catch(() => {}) // the command may end before its input
      : child.stdin.end(stdin);
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

/** Zero where the system does not tell, or once it has ended. */
function peakOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
