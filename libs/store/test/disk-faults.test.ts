import { randomUUID } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@mayfly/shared/errors';
import { freshFolder } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openDiskBlobs } from '../src/disk/blobs.ts';
import { pairedBlobs } from '../src/paired-blobs.ts';
import { memoryStoreRecord } from './memory-store-record.ts';

async function* bytes() {
  yield Buffer.from('payload');
}

test('while the folder is away nothing counts as deleted, stored or listed', async () => {
  await using place = await freshFolder();
  const folder = join(place.path, 'blobs');
  await using blobs = await pairedBlobs(openDiskBlobs(folder), memoryStoreRecord(), pino({ level: 'silent' }));
  const id = randomUUID();
  const put = (name: string) => blobs.put(name, bytes(), 7, new AbortController().signal);
  await put(id);

  await rename(folder, `${folder}-away`);
  expect(await blobs.delete([id])).toEqual([id]);
  await expect(put(randomUUID())).rejects.toBeInstanceOf(Unavailable);
  await expect(Array.fromAsync(blobs.list())).rejects.toBeInstanceOf(Unavailable);
  await expect(blobs.check()).rejects.toBeInstanceOf(Unavailable);

  await rename(`${folder}-away`, folder);
  expect(await blobs.delete([id])).toEqual([]);
  expect((await readdir(folder, { recursive: true })).filter((name) => name.includes(id))).toEqual([]);
});
