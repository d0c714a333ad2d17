import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase, letTimePass } from '@mayfly/testing/stores';
import type { Database } from '../src/postgres/database.ts';
import { postgresDownloadLeases } from '../src/postgres/download-leases.ts';
import { postgresFileRequestSweep, postgresFileRequests } from '../src/postgres/file-requests.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresBlocks, postgresDesk, postgresDeskSweep, postgresReports } from '../src/postgres/reports.ts';
import { postgresNoteSweep, postgresUploadSweep } from '../src/postgres/sweep.ts';
import { postgresUploadSessions } from '../src/postgres/upload-sessions.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';

/** The tables round times to the millisecond: what became due a moment ago may be half of one away. */
const ROUNDED_MS = 2;

/** A sweep, for tests that expect it to find what has just become due. */
function settled<Sweep extends object>(sweep: Sweep): Sweep {
  const steps = Object.entries(sweep).map(([name, step]) => [
    name,
    async (...given: unknown[]) => {
      await sleep(ROUNDED_MS);
      return step(...given);
    },
  ]);
  return Object.fromEntries(steps);
}

/** The stores on a database, each with its sweep, below ceilings of so many bytes. */
export const storesOn = (db: Database, maxBytes?: number) => ({
  db,
  uploads: { ...postgresUploads(db, { maxBytes }), ...settled(postgresUploadSweep(db)) },
  notes: { ...postgresNotes(db, { maxBytes }), ...settled(postgresNoteSweep(db)) },
  sessions: postgresUploadSessions(db, { maxBytes }),
  leases: postgresDownloadLeases(db),
  requests: { ...postgresFileRequests(db, { maxBytes }), ...settled(postgresFileRequestSweep(db)) },
  reports: postgresReports(db),
  desk: { ...postgresDesk(db), ...settled(postgresDeskSweep(db)) },
  blocks: postgresBlocks(db),
});

/** Opens a database by its address. */
export type OpenDatabase = (url: string) => Promise<Database> | Database;

/** Empty tables and the stores on them. */
export async function openTables(open: OpenDatabase, maxBytes?: number) {
  const database = await freshDatabase({ hasTables: true });
  const db = await open(database.url);
  const close = async () => {
    await db.destroy();
    await database[Symbol.asyncDispose]();
  };
  return {
    ...storesOn(db, maxBytes),
    url: database.url,
    /** As if everything in them had happened so much earlier; a moment is waited for. */
    advance: (seconds: number) => (seconds < 1 ? sleep(seconds * 1000) : letTimePass(database.url, seconds)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export type Tables = Awaited<ReturnType<typeof openTables>>;
export type OpenTables = (maxBytes?: number) => Promise<Tables>;
