import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { cpuSeconds, peakMemoryBytes } from '@mayfly/testing/proc';

/** How often a command is looked at: what it takes within its last moment is missed. */
const LOOK_MS = 10;

export type Spent = { seconds: number; cpuSec: number; peakBytes: number };

type Streams = {
  /** Files: what is read from stdin, what stdout is written to. */
  stdin?: string | undefined;
  stdout?: string | undefined;
  env: Record<string, string>;
};

/** Runs a program to its end, whatever it becomes on its way: what it took, and what it printed. Throws when it fails. */
export async function runCommand([program = '', ...args]: string[], { stdin, stdout, env }: Streams) {
  const files = [stdin ? openSync(stdin, 'r') : undefined, stdout ? openSync(stdout, 'w') : undefined];
  const began = performance.now();
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: [files[0] ?? 'ignore', files[1] ?? 'pipe', 'pipe'],
  });
  for (const file of files) if (file !== undefined) closeSync(file);
  const spent: Spent = { seconds: 0, cpuSec: 0, peakBytes: 0 };
  const { pid } = child;
  const look = () => {
    spent.peakBytes = Math.max(spent.peakBytes, peakMemoryBytes(pid));
    if (pid) spent.cpuSec = Math.max(spent.cpuSec, cpuSeconds([pid]));
  };
  const looking = setInterval(look, LOOK_MS);
  try {
    const [out, err, [code]] = await Promise.all([
      child.stdout ? text(child.stdout) : '',
      child.stderr ? text(child.stderr) : '',
      once(child, 'exit'),
    ]);
    spent.seconds = (performance.now() - began) / 1_000;
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${err}`);
    return { spent, out };
  } finally {
    clearInterval(looking);
  }
}
