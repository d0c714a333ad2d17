import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../src/postgres/database.ts';
import { postgresNoteSweep, postgresUploadSweep } from '../src/postgres/sweep.ts';

/** The tables round times to the millisecond: what became due a moment ago may be half of one away. */
const ROUNDED_MS = 2;

/** The sweeps of PostgreSQL, for tests that expect them to find what has just become due. */
export const settledUploadSweep = (db: Database) => settled(postgresUploadSweep(db));
export const settledNoteSweep = (db: Database) => settled(postgresNoteSweep(db));

export function settled<Sweep extends object>(sweep: Sweep): Sweep {
  const steps = Object.entries(sweep).map(([name, step]) => [
    name,
    async (...given: unknown[]) => {
      await sleep(ROUNDED_MS);
      return step(...given);
    },
  ]);
  return Object.fromEntries(steps);
}
