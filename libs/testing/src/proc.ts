import { readFileSync, writeFileSync } from 'node:fs';

// What the system tells of processes (Linux, /proc). The clock of CPU times there has 100 ticks a second on every
// architecture that Node runs on.

export const TICKS_PER_SEC = 100;

/** Processor seconds of these processes and all their children, those that have ended included. */
export function cpuSeconds(pids: number[]): number {
  return pids.flatMap(withChildren).reduce((sum, pid) => sum + ticksOf(read(`/proc/${pid}/stat`)), 0) / TICKS_PER_SEC;
}

/** User and system ticks of a process and of its children that have ended, from a line of /proc/PID/stat. */
export function ticksOf(stat: string): number {
  // The name, in parentheses, may hold anything; the fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}

/** Memory resident now, in bytes; here and below 0 where the system does not tell, or when the process has ended. */
export const memoryBytes = (pid: number | undefined): number => statusBytes(pid, 'VmRSS');

/** What of it the process shares with no other and with no file, in bytes. */
export const ownMemoryBytes = (pid: number): number => statusBytes(pid, 'RssAnon');

/** What was the most until now counts no more for peakMemoryBytes; where that is not allowed, it does. */
export function forgetPeak(pid: number) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // another account's process: its peak is that of its life
  }
}

/** Most memory resident since the start or since forgetPeak, in bytes. */
export const peakMemoryBytes = (pid: number | undefined): number => statusBytes(pid, 'VmHWM');

/** Memory of a process and all its children, by program: what several share counts in parts (PSS), so that the sum is true. */
export function proportionalBytes(pid: number): Record<string, number> {
  const bytesOf: Record<string, number> = {};
  for (const one of withChildren(pid)) {
    const name = programOf(read(`/proc/${one}/cmdline`));
    const [, kilobytes = 0] = /^Pss: +(\d+) kB$/m.exec(read(`/proc/${one}/smaps_rollup`)) ?? [];
    if (name) bytesOf[name] = (bytesOf[name] ?? 0) + Number(kilobytes) * 1024;
  }
  return bytesOf;
}

/** What a process is called: the file that Node runs, or the first word of what it calls itself. */
export function programOf(commandLine: string): string {
  const words = commandLine.split('\0');
  const [name = ''] = (words.find((word) => word.endsWith('.ts')) ?? words[0] ?? '').split(/[: ]/);
  return name
    .split('/')
    .slice(name.endsWith('.ts') ? -3 : -1)
    .join('/');
}

function statusBytes(pid: number | undefined, field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(read(`/proc/${pid}/status`));
  return Number(match?.[1] ?? 0) * 1024;
}

function withChildren(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(withChildren)];
}

/** Empty when the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // ended between two looks: its parent has its times
  }
}
