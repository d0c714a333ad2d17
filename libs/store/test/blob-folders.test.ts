import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Unavailable } from '@mayfly/shared/errors';
import { freshFolder } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { BlobStore } from '../src/blobs.ts';
import { openDiskBlobs } from '../src/disk/blobs.ts';
import { pairedBlobs } from '../src/paired-blobs.ts';
import { memoryStoreRecord } from './memory-store-record.ts';

// What earlier versions have put into one flat folder, and its way into the folders. Decision blob-folders.

const logger = pino({ level: 'silent' });
const inFolder = (id: string) => join(id.slice(0, 2), `${id}.bin`);

/** A folder as an earlier version has left it; each blob holds its own id. */
async function flatFolder(count: number) {
  const folder = await freshFolder();
  const ids: string[] = Array.from({ length: count }, () => randomUUID()).sort();
  for (const id of ids) await writeFile(join(folder.path, `${id}.bin`), id);
  return { ...folder, ids };
}

const put = async (blobs: BlobStore, id: string) => {
  const body = async function* () {
    yield Buffer.from(id);
  };
  await blobs.put(id, body(), id.length, new AbortController().signal);
};
const read = async (blobs: BlobStore, id: string) => {
  const payload = await blobs.open(id, id.length);
  return payload && text(payload);
};
const listed = async (blobs: BlobStore) => (await Array.fromAsync(blobs.list())).flat().map(({ id }) => id);
const filesIn = async (path: string) =>
  (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
const isFlat = async (path: string) => (await readdir(path)).some((name) => name.endsWith('.bin'));

test('blobs of the flat folder are served, listed and deleted as those in folders are', async () => {
  await using flat = await flatFolder(20);
  await using blobs = openDiskBlobs(flat.path);
  const fresh = randomUUID();
  await put(blobs, fresh);
  const all = [...flat.ids, fresh].sort();
  for (const id of all) expect(await read(blobs, id)).toBe(id);
  expect(await listed(blobs)).toEqual(all);
  expect(await blobs.delete([...flat.ids.slice(0, 5), fresh])).toEqual([]);
  expect(await listed(blobs)).toEqual(flat.ids.slice(5));
});

test('what is half written in either place is ended when it is old', async () => {
  await using folder = await freshFolder();
  await using blobs = openDiskBlobs(folder.path);
  const ids = Array.from({ length: 4 }, () => randomUUID());
  const paths = ids.map((id, index) => join(folder.path, `${index % 2 ? inFolder(id) : `${id}.bin`}.part`));
  for (const [index, path] of paths.entries()) {
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, 'half');
    if (index < 2) await utimes(path, 1, 1);
  }
  const before = new Date(Date.now() - 60_000);
  expect(await blobs.endPartials(before, true, async () => new Set())).toBe(2);
  expect(await blobs.endPartials(before, false, async () => new Set())).toBe(2);
  expect((await filesIn(folder.path)).map(({ name }) => name).sort()).toEqual(
    ids
      .slice(2)
      .map((id) => `${id}.bin.part`)
      .sort(),
  );
  expect(await blobs.delete(ids)).toEqual([]);
  expect(await filesIn(folder.path)).toEqual([]);
});

test('they move into their folders; marker and what is half written stay', async () => {
  await using flat = await flatFolder(50);
  await using blobs = openDiskBlobs(flat.path);
  const [marker, half] = [randomUUID(), randomUUID()];
  await blobs.mark(marker);
  await writeFile(join(flat.path, `${half}.bin.part`), 'half');
  expect(await blobs.moveIn?.()).toBe(50);
  const top = (await readdir(flat.path)).filter((name) => name.length > 2);
  expect(top.sort()).toEqual([`${half}.bin.part`, `mayfly-store-${marker}`].sort());
  expect(await blobs.markers()).toEqual([marker]);
  for (const id of flat.ids) expect(await readFile(join(flat.path, inFolder(id)), 'utf8')).toBe(id);
  expect(await listed(blobs)).toEqual(flat.ids);
  await using again = openDiskBlobs(flat.path);
  expect(await again.moveIn?.()).toBe(0);
});

test('a process that was killed half way loses nothing, and the next one goes on', async () => {
  await using flat = await flatFolder(50);
  for (const id of flat.ids.filter((_, index) => index % 2)) {
    await mkdir(join(flat.path, id.slice(0, 2)), { recursive: true });
    await rename(join(flat.path, `${id}.bin`), join(flat.path, inFolder(id)));
  }
  await using blobs = openDiskBlobs(flat.path);
  for (const id of flat.ids) expect(await read(blobs, id)).toBe(id);
  expect(await listed(blobs)).toEqual(flat.ids);
  expect(await blobs.moveIn?.()).toBe(25);
  expect(await listed(blobs)).toEqual(flat.ids);
  expect(await isFlat(flat.path)).toBe(false);
});

test('a process that ends stops moving, and everything is there', async () => {
  await using flat = await flatFolder(500);
  const blobs = openDiskBlobs(flat.path);
  const moving = blobs.moveIn?.();
  await Promise.all([blobs[Symbol.asyncDispose](), expect(moving).rejects.toThrow('ends')]);
  expect(await listed(openDiskBlobs(flat.path))).toEqual(flat.ids);
});

test('two processes move at once while a third serves, lists and deletes: nobody misses a blob', async () => {
  await using flat = await flatFolder(2_000);
  await using one = openDiskBlobs(flat.path);
  await using two = openDiskBlobs(flat.path);
  await using reader = openDiskBlobs(flat.path);
  const [deleted, kept] = [flat.ids.filter((_, index) => index % 4 === 0), flat.ids.filter((_, index) => index % 4)];
  let isMoving = true;
  const moving = Promise.all([one.moveIn?.(), two.moveIn?.()]).finally(() => {
    isMoving = false;
  });
  const reading = async () => {
    do for (const id of kept) expect(await read(reader, id)).toBe(id);
    while (isMoving);
  };
  const listing = async () => {
    do expect((await listed(reader)).filter((id) => !deleted.includes(id))).toEqual(kept);
    while (isMoving);
  };
  const deleting = async () => expect(await reader.delete(deleted)).toEqual([]);
  await Promise.all([moving, reading(), listing(), deleting()]);
  expect(await listed(reader)).toEqual(kept);
  expect(await filesIn(flat.path)).toHaveLength(kept.length);
  expect(await isFlat(flat.path)).toBe(false);
});

test('one that cannot be moved stays, and keeps no other from it', async () => {
  await using flat = await flatFolder(10);
  const [inTheWay = '', ...others] = flat.ids;
  await mkdir(join(flat.path, inFolder(inTheWay), 'full'), { recursive: true });
  await using blobs = openDiskBlobs(flat.path);
  await expect(blobs.moveIn?.()).rejects.toThrow('1 blobs');
  expect((await readdir(flat.path)).filter((name) => name.endsWith('.bin'))).toEqual([`${inTheWay}.bin`]);
  for (const id of others) expect(await read(blobs, id)).toBe(id);
});

test('only the store that is the database’s is touched', async () => {
  await using flat = await flatFolder(5);
  const others = randomUUID();
  await openDiskBlobs(flat.path).mark(others);
  await using foreign = await pairedBlobs(openDiskBlobs(flat.path), memoryStoreRecord({ uploads: flat.ids }), logger);
  await expect(foreign.check()).rejects.toBeInstanceOf(Unavailable);
  expect((await readdir(flat.path)).sort()).toEqual([...flat.ids.map((id) => `${id}.bin`), `mayfly-store-${others}`]);

  await openDiskBlobs(flat.path).unmark(others);
  await using own = await pairedBlobs(openDiskBlobs(flat.path), memoryStoreRecord({ uploads: flat.ids }), logger);
  await own.check();
  await expect.poll(() => isFlat(flat.path)).toBe(false);
  expect(await listed(own)).toEqual(flat.ids);
});

test('a folder that is missing is made for the blob that needs it, but not the one that holds them all', async () => {
  await using folder = await freshFolder();
  await using blobs = openDiskBlobs(folder.path);
  const id = randomUUID();
  await put(blobs, id);
  expect(await readdir(folder.path)).toHaveLength(256);
  await rm(join(folder.path, id.slice(0, 2)), { recursive: true });
  expect(await blobs.open(id)).toBeUndefined();
  await put(blobs, id);
  expect(await read(blobs, id)).toBe(id);
  const away = openDiskBlobs(join(folder.path, 'away'));
  await expect(put(away, id)).rejects.toBeInstanceOf(Unavailable);
  expect(await readdir(folder.path)).not.toContain('away');
});
