import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Another nice value for a process that has a session of its own: Linux may share processors among sessions (autogroups), and then
 * the value of a process counts only within its own. What this user may not do is left as it is.
 */
export function setNice(pid: number, nice: number) {
  const ways = [() => setPriority(pid, nice), () => writeFileSync(`/proc/${pid}/autogroup`, String(nice))];
  for (const way of ways) {
    try {
      way();
    } catch {
      // not allowed, or a system that has no such thing
    }
  }
}
