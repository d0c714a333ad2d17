import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a process tells the time by; a test puts it forward or back while the process runs. */
export type ShiftedClock = {
  /** The settings that give it to a process. What measures how long something takes stays as it is. */
  settings: Record<string, string>;
  shift(bySec: number): void;
  /** Removes what a process that was killed has left in memory. */
  forget(pid: number | undefined): void;
};

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1').filter((path) => existsSync(path));

/** Why no clock can be shifted here; undefined when one can. */
export const noShiftedClock: string | undefined = library ? undefined : 'libfaketime is not installed';

/** A clock that is kept in the folder under this name. See `noShiftedClock`. */
export function shiftedClock(folder: string, name: string): ShiftedClock {
  const path = join(folder, name);
  const shift = (bySec: number) => writeFileSync(path, bySec < 0 ? String(bySec) : `+${bySec}`);
  shift(0);
  const settings = {
    LD_PRELOAD: library ?? '',
    FAKETIME_TIMESTAMP_FILE: path,
    FAKETIME_CACHE_DURATION: '1', // seconds after which it is read again
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const forget = (pid: number | undefined) => {
    for (const left of ['sem.faketime_sem_', 'faketime_shm_']) rmSync(`/dev/shm/${left}${pid}`, { force: true });
  };
  return { settings, shift, forget };
}
