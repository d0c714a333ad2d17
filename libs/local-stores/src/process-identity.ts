import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that cannot be mistaken for a later one with the same number. */
export type Identity = { pid: number; started: string };

/** Who runs under this number now; undefined when nobody does. */
export function identify(pid: number): Identity | undefined {
  const started = process.platform === 'linux' ? startedFromProc(pid) : startedFromPs(pid);
  return started === undefined ? undefined : { pid, started };
}

function startedFromProc(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses and may hold spaces: state is the first after it, start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${boot}/${fields[19]}`;
  } catch {
    return undefined; // no such process
  }
}

function startedFromPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'lstart=,comm=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined; // ps fails when there is no such process
  }
}

export function isRunning(identity: Identity): boolean {
  return identify(identity.pid)?.started === identity.started;
}

/** Sends each signal in turn, with the given time to obey. True when the process is gone. */
export async function stopProcess(identity: Identity, steps: [signal: NodeJS.Signals, waitMs: number][]) {
  for (const [signal, waitMs] of steps) {
    try {
      if (isRunning(identity)) process.kill(identity.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPERM') return false; // somebody else's process
    }
    for (const end = Date.now() + waitMs; Date.now() < end; await sleep(25)) {
      if (!isRunning(identity)) return true;
    }
  }
  return !isRunning(identity);
}
