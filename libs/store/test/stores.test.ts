import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase, freshFolder, testS3Settings } from '@mayfly/local-stores/testing';
import { pino } from 'pino';
import { openDiskBlobs } from '../src/disk/blobs.ts';
import { memoryBlobs } from '../src/memory/blobs.ts';
import { memoryNotes } from '../src/memory/notes.ts';
import { memoryUploads } from '../src/memory/uploads.ts';
import { migrate, openDatabase } from '../src/postgres/database.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresNoteSweep, postgresUploadSweep } from '../src/postgres/sweep.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';
import { openS3Blobs } from '../src/s3/blobs.ts';
import { openClient, PATIENCE } from '../src/s3/connection.ts';
import { blobsContract } from './contract-blobs.ts';
import { noteCeilingContract, uploadCeilingContract } from './contract-ceilings.ts';
import { notesContract } from './contract-notes.ts';
import { uploadsContract } from './contract-uploads.ts';

// Every store keeps the same promises; the fakes of unit tests are held to those of the real ones.

const logger = pino({ level: 'silent' });

async function openTables() {
  const database = await freshDatabase();
  const db = openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 10 }, logger);
  await migrate(database.url);
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
const wait = (seconds: number) => sleep(seconds * 1000);

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

uploadsContract(
  'PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    return { uploads: { ...postgresUploads(db), ...postgresUploadSweep(db) }, close };
  },
  wait,
);
notesContract(
  'PostgreSQL',
  async () => {
    const { db, close } = await openTables();
    return { notes: { ...postgresNotes(db), ...postgresNoteSweep(db) }, close };
  },
  wait,
);
uploadCeilingContract(
  'PostgreSQL',
  async (maxBytes) => {
    const { db, close } = await openTables();
    return { uploads: { ...postgresUploads(db, { maxBytes }), ...postgresUploadSweep(db) }, close };
  },
  wait,
);
noteCeilingContract(
  'PostgreSQL',
  async (maxBytes) => {
    const { db, close } = await openTables();
    return { notes: { ...postgresNotes(db, { maxBytes }), ...postgresNoteSweep(db) }, close };
  },
  wait,
);
blobsContract('disk', async () => {
  const folder = await freshFolder();
  return {
    blobs: openDiskBlobs(folder.path),
    names: async () =>
      (await readdir(folder.path, { recursive: true, withFileTypes: true })).flatMap((entry) =>
        entry.isFile() ? entry.name : [],
      ),
    close: () => folder[Symbol.asyncDispose](),
  };
});
blobsContract('S3', async () => {
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
});
