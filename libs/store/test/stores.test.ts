import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder, testS3Settings } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { openDiskBlobs } from '../src/disk/blobs.ts';
import { openDatabase } from '../src/postgres/database.ts';
import { openS3Blobs } from '../src/s3/blobs.ts';
import { openClient } from '../src/s3/connection.ts';
import { PATIENCE } from '../src/s3/patience.ts';
import { blobsContract } from './contract-blobs.ts';
import { partsContract } from './contract-parts.ts';
import { postgresContracts } from './postgres-contracts.ts';

// What stores promise: blobs on the disk and on S3, everything else in PostgreSQL.

postgresContracts((url) => openDatabase({ DATABASE_URL: url, DATABASE_POOL_SIZE: 10 }, pino({ level: 'silent' })));

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
