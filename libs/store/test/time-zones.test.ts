import { freshDatabase, query } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openDatabase } from '../src/postgres/database.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';
import { newItem } from './new-items.ts';

const DAY_SEC = 86_400;

// Of these at least one ends under the other time of the year, whatever day it is.
test.each([60, 150, 220])('%i days are as many seconds in a time zone that puts its clocks forward', async (days) => {
  await using database = await freshDatabase({ hasTables: true });
  await query(database.url, `alter database ${new URL(database.url).pathname.slice(1)} set timezone = 'Europe/Berlin'`);
  const logger = pino({ level: 'silent' });
  await using db = openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 1 }, logger);
  const uploads = postgresUploads(db);
  const upload = {
    ...newItem(),
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
