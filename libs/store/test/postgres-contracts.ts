import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase, letTimePass, query } from '@mayfly/testing/stores';
import type { Notes } from '../src/notes.ts';
import type { Database } from '../src/postgres/database.ts';
import { postgresDownloadLeases } from '../src/postgres/download-leases.ts';
import { postgresFileRequestSweep, postgresFileRequests } from '../src/postgres/file-requests.ts';
import { NOTICES } from '../src/postgres/noted.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresNoteNotices, postgresUploadNotices } from '../src/postgres/notices.ts';
import { postgresOwnedNotes, postgresOwnedUploads } from '../src/postgres/owned-items.ts';
import { postgresBlocks, postgresDesk, postgresDeskSweep, postgresReports } from '../src/postgres/reports.ts';
import { postgresUploadSessions } from '../src/postgres/upload-sessions.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';
import type { Uploads } from '../src/uploads.ts';
import { noteCeilingContract, noteOf, uploadCeilingContract, uploadOf } from './contract-ceilings.ts';
import { fileRequestsContract } from './contract-file-requests.ts';
import { leasesContract } from './contract-leases.ts';
import { notesContract } from './contract-notes.ts';
import { noticesContract } from './contract-notices.ts';
import { ownedContract } from './contract-owned-items.ts';
import { reportsContract } from './contract-reports.ts';
import { sessionsContract } from './contract-sessions.ts';
import { uploadsContract } from './contract-uploads.ts';
import { settled, settledNoteSweep, settledUploadSweep } from './settled-sweeps.ts';

/** An upload that is there at once, and what its recipients do: uses that nobody has said to be whole, and those that somebody has. */
const ofUploads = ({ begin, publish, claimDownload, release, remove }: Uploads) => {
  const useAs = (isWhole: boolean) => async (id: string) => {
    if ((await claimDownload(id, 60)) === 0) return false;
    await release(id, isWhole);
    return true;
  };
  return {
    async create(maxDownloads: number, expireSec: number) {
      const upload = uploadOf(10, { maxDownloads, expireSec });
      await begin(upload, 60);
      await publish(upload.id);
      return upload.id;
    },
    use: useAs(false),
    useWhole: useAs(true),
    remove,
  };
};
const ofNotes = ({ add, claimView, remove }: Notes) => ({
  async create(maxViews: number, expireSec: number) {
    const note = noteOf(20, { maxViews, expireSec });
    await add(note);
    return note.id;
  },
  use: async (id: string) => (await claimView(id)) !== undefined,
  remove,
});

/** What stores of rows promise, in PostgreSQL: on tables of their own every time, to which `open` leads. */
export function postgresContracts(open: (databaseUrl: string) => Promise<Database> | Database) {
  let openedUrl = '';

  /** Empty tables, the stores on them, and what a sweep finds at once. */
  async function openTables(maxBytes?: number) {
    const database = await freshDatabase({ hasTables: true });
    openedUrl = database.url;
    const db = await open(database.url);
    return {
      db,
      uploads: { ...postgresUploads(db, { maxBytes }), ...settledUploadSweep(db) },
      notes: { ...postgresNotes(db, { maxBytes }), ...settledNoteSweep(db) },
      sessions: postgresUploadSessions(db, { maxBytes }),
      leases: postgresDownloadLeases(db),
      requests: postgresFileRequests(db, { maxBytes }),
      async close() {
        await db.destroy();
        await database[Symbol.asyncDispose]();
      },
    };
  }

  /** As if everything in the tables that were opened last had happened so much earlier; a moment is waited for. */
  const wait = (seconds: number) => (seconds < 1 ? sleep(seconds * 1000) : letTimePass(openedUrl, seconds));

  const hurry = (items: keyof typeof NOTICES) => () =>
    query(openedUrl, `update ${NOTICES[items]} set due_at = now() - interval '1 second'`);

  uploadsContract(openTables, wait);
  notesContract(openTables, wait);
  uploadCeilingContract(openTables, wait);
  noteCeilingContract(openTables, wait);
  sessionsContract(openTables, wait);
  leasesContract(openTables, wait);
  fileRequestsContract(async (maxBytes) => {
    const stores = await openTables(maxBytes);
    return { ...stores, sweep: settled(postgresFileRequestSweep(stores.db)) };
  }, wait);
  reportsContract(async () => {
    const stores = await openTables();
    const { db } = stores;
    const [reports, desk, blocks] = [postgresReports(db), postgresDesk(db), postgresBlocks(db)];
    return { ...stores, reports, desk, blocks, sweep: settled(postgresDeskSweep(db)) };
  }, wait);

  async function openOwnedUploads() {
    const { db, uploads, close } = await openTables();
    const stores = { owned: postgresOwnedUploads(db), notices: postgresUploadNotices(db) };
    const sweep = () => uploads.retire(1_000, 3_600);
    return { ...stores, ...ofUploads(uploads), sweep, hurry: hurry('files.uploads'), close };
  }
  async function openOwnedNotes() {
    const { db, notes, close } = await openTables();
    const stores = { owned: postgresOwnedNotes(db), notices: postgresNoteNotices(db) };
    const sweep = () => notes.retire(1_000, 3_600);
    return { ...stores, ...ofNotes(notes), sweep, hurry: hurry('notes.notes'), close };
  }
  ownedContract(
    'uploads',
    async () => {
      const stores = await openOwnedUploads();
      return { ...stores, use: stores.useWhole };
    },
    wait,
  );
  ownedContract('notes', openOwnedNotes, wait);
  noticesContract('uploads', openOwnedUploads, wait);
  noticesContract('notes', openOwnedNotes, wait);
}
