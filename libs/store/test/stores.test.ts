import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase, freshFolder, query, testS3Settings } from '@mayfly/testing/stores';
import { sql } from 'kysely';
import { pino } from 'pino';
import { openDiskBlobs } from '../src/disk/blobs.ts';
import { memoryBlobs } from '../src/memory/blobs.ts';
import { memoryDownloadLeases } from '../src/memory/download-leases.ts';
import { memoryFileRequests } from '../src/memory/file-requests.ts';
import { memoryNotes } from '../src/memory/notes.ts';
import { memoryNotices } from '../src/memory/notices.ts';
import { memoryOwnedNotes, memoryOwnedUploads } from '../src/memory/owned-items.ts';
import { memoryReports } from '../src/memory/reports.ts';
import { memoryUploadSessions } from '../src/memory/upload-sessions.ts';
import { memoryUploads } from '../src/memory/uploads.ts';
import type { Notes } from '../src/notes.ts';
import { openDatabase } from '../src/postgres/database.ts';
import { postgresDownloadLeases } from '../src/postgres/download-leases.ts';
import { postgresFileRequestSweep, postgresFileRequests } from '../src/postgres/file-requests.ts';
import { NOTICES } from '../src/postgres/noted.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresNoteNotices, postgresUploadNotices } from '../src/postgres/notices.ts';
import { postgresOwnedNotes, postgresOwnedUploads } from '../src/postgres/owned-items.ts';
import { postgresBlocks, postgresDesk, postgresDeskSweep, postgresReports } from '../src/postgres/reports.ts';
import { postgresUploadSessions } from '../src/postgres/upload-sessions.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';
import { openS3Blobs } from '../src/s3/blobs.ts';
import { openClient, PATIENCE } from '../src/s3/connection.ts';
import type { Uploads } from '../src/uploads.ts';
import { blobsContract } from './contract-blobs.ts';
import { noteCeilingContract, noteOf, uploadCeilingContract, uploadOf } from './contract-ceilings.ts';
import { fileRequestsContract } from './contract-file-requests.ts';
import { leasesContract } from './contract-leases.ts';
import { notesContract } from './contract-notes.ts';
import { noticesContract } from './contract-notices.ts';
import { ownedContract } from './contract-owned-items.ts';
import { partsContract } from './contract-parts.ts';
import { reportsContract } from './contract-reports.ts';
import { sessionsContract } from './contract-sessions.ts';
import { uploadsContract } from './contract-uploads.ts';
import { settled, settledNoteSweep, settledUploadSweep } from './settled-sweeps.ts';

// Every store keeps the same promises; the fakes of unit tests are held to those of the real ones.

const logger = pino({ level: 'silent' });

async function openTables() {
  const database = await freshDatabase({ hasTables: true });
  const db = openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 10 }, logger);
  openedUrl = database.url;
  const close = async () => {
    await db.destroy();
    await database[Symbol.asyncDispose]();
  };
  return { db, close };
}

let now = Date.now();
const advanceClock = async (seconds: number) => {
  now += seconds * 1000;
};
let openedUrl = '';

/** As if everything in the tables that were opened last had happened so much earlier; a moment is waited for. */
async function wait(seconds: number) {
  if (seconds < 1) return sleep(seconds * 1000);
  const columns = await query<{ table: string; column: string }>(
    openedUrl,
    `select format('%I.%I', table_schema, table_name) as table, column_name as column from information_schema.columns
      where table_schema in ('files', 'notes', 'desk') and data_type = 'timestamp with time zone' and datetime_precision = 3`,
  );
  const earlier = `make_interval(secs => ${seconds})`;
  const ofViews = `recent_views = (select jsonb_object_agg(key, value ||
    jsonb_build_object('until', (value ->> 'until')::timestamptz - ${earlier})) from jsonb_each(recent_views))`;
  const statements = [...Map.groupBy(columns, ({ table }) => table)].map(([table, all]) => {
    const changes = all.map(({ column }) => `${column} = ${column} - ${earlier}`);
    if (table === 'notes.notes') changes.push(ofViews);
    return `update ${table} set ${changes.join(', ')}`;
  });
  await query(openedUrl, statements.join(';'));
}

uploadsContract('memory', async () => ({ uploads: memoryUploads(() => now) }), advanceClock);
notesContract('memory', async () => ({ notes: memoryNotes(() => now) }), advanceClock);
uploadCeilingContract(
  'memory',
  async (maxBytes) => ({ uploads: memoryUploads(() => now, { maxBytes }) }),
  advanceClock,
);
noteCeilingContract('memory', async (maxBytes) => ({ notes: memoryNotes(() => now, { maxBytes }) }), advanceClock);
blobsContract('memory', async () => {
  const blobs = memoryBlobs();
  return { blobs, names: async () => [...blobs.held.keys()].map((id) => `${id}.bin`) };
});

sessionsContract(
  'memory',
  async (maxBytes) => {
    const uploads = memoryUploads(() => now, maxBytes === undefined ? {} : { maxBytes });
    return { uploads, sessions: memoryUploadSessions(uploads, () => now) };
  },
  advanceClock,
);
leasesContract(
  'memory',
  async () => {
    const uploads = memoryUploads(() => now);
    return { uploads, leases: memoryDownloadLeases(uploads, () => now) };
  },
  advanceClock,
);
fileRequestsContract(
  'memory',
  async (maxBytes) => {
    const requests = memoryFileRequests(() => now, maxBytes);
    return { requests, sweep: requests };
  },
  advanceClock,
);
fileRequestsContract(
  'PostgreSQL',
  async (maxBytes) => {
    const { db, close } = await openTables();
    return { requests: postgresFileRequests(db, { maxBytes }), sweep: settled(postgresFileRequestSweep(db)), close };
  },
  wait,
);
reportsContract(
  'memory',
  async () => {
    const [uploads, notes] = [memoryUploads(() => now), memoryNotes(() => now)];
    const desk = memoryReports(uploads, notes, () => now);
    const sessions = memoryUploadSessions(uploads, () => now);
    const leases = memoryDownloadLeases(uploads, () => now);
    return { uploads, notes, sessions, leases, reports: desk, desk, sweep: desk, blocks: desk.blocks };
  },
  advanceClock,
);
reportsContract(
  'PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    return {
      uploads: { ...postgresUploads(db), ...settledUploadSweep(db) },
      notes: postgresNotes(db),
      requests: postgresFileRequests(db),
      sessions: postgresUploadSessions(db),
      leases: postgresDownloadLeases(db),
      reports: postgresReports(db),
      desk: postgresDesk(db),
      sweep: settled(postgresDeskSweep(db)),
      blocks: postgresBlocks(db),
      close,
    };
  },
  wait,
);
partsContract('memory', 10_000, async () => {
  const blobs = memoryBlobs();
  const names = async () => [...[...blobs.held.keys()].map((id) => `${id}.bin`), ...blobs.parts.coming.keys()];
  return { blobs, names };
});

/** An upload that is there at once, and what its recipients do. */
const ofUploads = ({ begin, publish, claimDownload, release }: Uploads) => ({
  async create(maxDownloads: number, expireSec: number) {
    const upload = uploadOf(10, { maxDownloads, expireSec });
    await begin(upload, 60);
    await publish(upload.id);
    return upload.id;
  },
  async use(id: string) {
    if ((await claimDownload(id, 60)) === 0) return false;
    await release(id, true);
    return true;
  },
});
const ofNotes = ({ add, claimView }: Notes) => ({
  async create(maxViews: number, expireSec: number) {
    const note = noteOf(20, { maxViews, expireSec });
    await add(note);
    return note.id;
  },
  use: async (id: string) => (await claimView(id)) !== undefined,
});

ownedContract(
  'uploads in memory',
  async () => {
    const uploads = memoryUploads(() => now);
    const owned = memoryOwnedUploads(uploads, () => now);
    return { owned, ...ofUploads(uploads), sweep: () => uploads.retire(1_000, 3_600) };
  },
  advanceClock,
);
ownedContract(
  'notes in memory',
  async () => {
    const notes = memoryNotes(() => now);
    const owned = memoryOwnedNotes(notes, () => now);
    return { owned, ...ofNotes(notes), sweep: () => notes.retire(1_000, 3_600) };
  },
  advanceClock,
);
ownedContract(
  'uploads in PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    const sweep = () => settledUploadSweep(db).retire(1_000, 3_600);
    return { owned: postgresOwnedUploads(db), ...ofUploads(postgresUploads(db)), sweep, close };
  },
  wait,
);
ownedContract(
  'notes in PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    const sweep = () => settledNoteSweep(db).retire(1_000, 3_600);
    return { owned: postgresOwnedNotes(db), ...ofNotes(postgresNotes(db)), sweep, close };
  },
  wait,
);

/** Uses that nobody has said to be whole, and those that somebody has. */
const ofHookedUploads = (uploads: Uploads) => ({
  ...ofUploads(uploads),
  async use(id: string) {
    if ((await uploads.claimDownload(id, 60)) === 0) return false;
    await uploads.release(id, false);
    return true;
  },
  useWhole: ofUploads(uploads).use,
  remove: (id: string) => uploads.remove(id),
});
const hurryMemory =
  ({ outbox }: ReturnType<typeof memoryUploads | typeof memoryNotes>) =>
  async () => {
    for (const notice of outbox.held.values()) notice.dueAt = now;
  };
const hurryTable = (db: Awaited<ReturnType<typeof openTables>>['db'], items: keyof typeof NOTICES) => () =>
  sql`update ${sql.table(NOTICES[items])} set due_at = now() - interval '1 second'`.execute(db);

noticesContract(
  'uploads in memory',
  async () => {
    const uploads = memoryUploads(() => now);
    const [owned, notices] = [memoryOwnedUploads(uploads, () => now), memoryNotices(uploads, () => now)];
    const sweep = () => uploads.retire(1_000, 3_600);
    return { owned, notices, ...ofHookedUploads(uploads), sweep, hurry: hurryMemory(uploads) };
  },
  advanceClock,
);
noticesContract(
  'notes in memory',
  async () => {
    const notes = memoryNotes(() => now);
    const [owned, notices] = [memoryOwnedNotes(notes, () => now), memoryNotices(notes, () => now)];
    const sweep = () => notes.retire(1_000, 3_600);
    return { owned, notices, ...ofNotes(notes), remove: notes.remove, sweep, hurry: hurryMemory(notes) };
  },
  advanceClock,
);
noticesContract(
  'uploads in PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    const sweep = () => settledUploadSweep(db).retire(1_000, 3_600);
    const [owned, notices] = [postgresOwnedUploads(db), postgresUploadNotices(db)];
    return {
      owned,
      notices,
      ...ofHookedUploads(postgresUploads(db)),
      sweep,
      hurry: hurryTable(db, 'files.uploads'),
      close,
    };
  },
  wait,
);
noticesContract(
  'notes in PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    const sweep = () => settledNoteSweep(db).retire(1_000, 3_600);
    const notes = postgresNotes(db);
    const [owned, notices] = [postgresOwnedNotes(db), postgresNoteNotices(db)];
    const facts = { owned, notices, sweep, hurry: hurryTable(db, 'notes.notes'), close };
    return { ...facts, ...ofNotes(notes), remove: (id: string) => notes.remove(id) };
  },
  wait,
);

uploadsContract(
  'PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    return { uploads: { ...postgresUploads(db), ...settledUploadSweep(db) }, close };
  },
  wait,
);
notesContract(
  'PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    return { notes: { ...postgresNotes(db), ...settledNoteSweep(db) }, close };
  },
  wait,
);
uploadCeilingContract(
  'PostgreSQL',
  async (maxBytes) => {
    const { db, close } = await openTables();
    return { uploads: { ...postgresUploads(db, { maxBytes }), ...settledUploadSweep(db) }, close };
  },
  wait,
);
noteCeilingContract(
  'PostgreSQL',
  async (maxBytes) => {
    const { db, close } = await openTables();
    return { notes: { ...postgresNotes(db, { maxBytes }), ...settledNoteSweep(db) }, close };
  },
  wait,
);
sessionsContract(
  'PostgreSQL',
  async (maxBytes) => {
    const { db, close } = await openTables();
    const uploads = { ...postgresUploads(db, { maxBytes }), ...settledUploadSweep(db) };
    return { uploads, sessions: postgresUploadSessions(db, { maxBytes }), close };
  },
  wait,
);

leasesContract(
  'PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    const uploads = { ...postgresUploads(db), ...settledUploadSweep(db) };
    return { uploads, leases: postgresDownloadLeases(db), close };
  },
  wait,
);

async function openDisk() {
  const folder = await freshFolder();
  return {
    blobs: openDiskBlobs(folder.path),
    names: async () =>
      (await readdir(folder.path, { recursive: true, withFileTypes: true })).flatMap((entry) =>
        entry.isFile() ? (entry.parentPath.endsWith('.parts') ? join(entry.parentPath, entry.name) : entry.name) : [],
      ),
    close: () => folder[Symbol.asyncDispose](),
  };
}
blobsContract('disk', openDisk);
partsContract('disk', 3_000_000, openDisk);

async function openS3() {
  const settings = testS3Settings();
  const blobs = openS3Blobs(settings);
  await blobs.create();
  const client = openClient(settings, PATIENCE);
  return {
    blobs,
    names: async () => {
      const names: string[] = [];
      for await (const { name } of client.listObjectsV2(settings.S3_BUCKET, '', true)) names.push(name);
      return names;
    },
    close: () => blobs[Symbol.asyncDispose](),
  };
}
blobsContract('S3', openS3);
partsContract('S3', 5 * 1024 * 1024, openS3);
