import { randomBytes, randomUUID } from 'node:crypto';
import { freshDatabase } from '@mayfly/local-stores/testing';
import pg from 'pg';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { migrate, openDatabase } from '../src/postgres/database.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';

const DAY_SEC = 86_400;

// Of these at least one ends under the other time of the year, whatever day it is.
test.each([60, 150, 220])('%i days are as many seconds in a time zone that puts its clocks forward', async (days) => {
  await using database = await freshDatabase();
  await migrate(database.url);
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query(`alter database ${new URL(database.url).pathname.slice(1)} set timezone = 'Europe/Berlin'`);
  await client.end();
  const logger = pino({ level: 'silent' });
  await using db = openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 1 }, logger);
  const uploads = postgresUploads(db);
  const upload = {
    id: randomUUID(),
    authHash: randomBytes(32),
    ownerHash: randomBytes(32),
    salt: randomBytes(16).toString('base64url'),
    sizeBytes: 1,
    fileCount: 1,
    maxDownloads: 1,
    expireSec: days * DAY_SEC,
  };
  await uploads.begin(upload, 60);
  await uploads.publish(upload.id);
  const found = await uploads.find(upload.id);
  if (found?.status !== 'available') throw new Error('not available');
  expect(found.expiresAt.getTime() - found.createdAt.getTime()).toBe(upload.expireSec * 1000);
});
