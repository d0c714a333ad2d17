import { randomBytes, randomUUID } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { PartsRefused } from '../src/blob-parts.ts';
import { openDiskBlobs } from '../src/disk/blobs.ts';
import type { Part } from '../src/upload-sessions.ts';

// What a process leaves that is killed while it puts parts together on a disk, and several that do it at once.

const PART = 300_000;
const COUNT = 5;
const never = new AbortController().signal;

async function stored(blobs: ReturnType<typeof openDiskBlobs>) {
  const id = randomUUID();
  const storeRef = await blobs.parts.begin(id);
  const payload = randomBytes((COUNT - 1) * PART + 1_000);
  const parts: Part[] = [];
  for (let number = 1; number <= COUNT; number++) {
    const bytes = payload.subarray((number - 1) * PART, number * PART);
    const tag = await blobs.parts.put({ id, storeRef, number }, [bytes] as never, bytes.length, never);
    parts.push({ number, bytes: bytes.length, tag });
  }
  return { id, storeRef, payload, parts };
}

const pathsOf = (folder: string, id: string) => {
  const inner = join(folder, id.slice(0, 2));
  return {
    blob: join(inner, `${id}.bin`),
    parts: join(inner, `${id}.parts`),
    whole: join(inner, `${id}.parts`, 'whole'),
  };
};

test.each(Array.from({ length: 2 * COUNT }, (_, index) => [Math.floor(index / 2), index % 2 ? 12_345 : 0]))(
  'killed with %i parts in their places and %i bytes of the next: another process goes on',
  async (done, more) => {
    await using folder = await freshFolder();
    const blobs = openDiskBlobs(folder.path);
    const { id, storeRef, payload, parts } = await stored(blobs);
    const paths = pathsOf(folder.path, id);
    await writeFile(paths.whole, payload.subarray(0, done * PART + more));
    for (const { number, tag } of parts.slice(0, done)) await rm(join(paths.parts, `${number}.${tag}`));
    await openDiskBlobs(folder.path).parts.complete(id, storeRef, parts);
    expect((await readFile(paths.blob)).equals(payload)).toBe(true);
    expect(await readdir(join(folder.path, id.slice(0, 2)))).toEqual([`${id}.bin`]);
  },
);

test('killed when all is in its place and parts are left: nothing but the payload stays', async () => {
  await using folder = await freshFolder();
  const blobs = openDiskBlobs(folder.path);
  const { id, storeRef, payload, parts } = await stored(blobs);
  const paths = pathsOf(folder.path, id);
  await writeFile(paths.blob, payload);
  await copyFile(paths.blob, paths.whole);
  await blobs.parts.complete(id, storeRef, parts);
  expect((await readFile(paths.blob)).equals(payload)).toBe(true);
  expect(await readdir(join(folder.path, id.slice(0, 2)))).toEqual([`${id}.bin`]);
});

test('one that comes late takes nothing from a payload that is complete', async () => {
  await using folder = await freshFolder();
  const blobs = openDiskBlobs(folder.path);
  const { id, storeRef, payload, parts } = await stored(blobs);
  const paths = pathsOf(folder.path, id);
  await blobs.parts.complete(id, storeRef, parts);
  await mkdir(paths.parts); // as if it had opened its file just before the other one was through
  await writeFile(paths.whole, '');
  await blobs.parts.complete(id, storeRef, parts);
  expect((await readFile(paths.blob)).equals(payload)).toBe(true);
});

test('a part whose file is lost is named, and what came before it is not asked for again', async () => {
  await using folder = await freshFolder();
  const blobs = openDiskBlobs(folder.path);
  const { id, storeRef, payload, parts } = await stored(blobs);
  const paths = pathsOf(folder.path, id);
  await rm(join(paths.parts, `3.${parts[2]?.tag}`));
  const refused = await blobs.parts.complete(id, storeRef, parts).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(PartsRefused);
  expect((refused as PartsRefused).numbers).toEqual([3]);
  const bytes = payload.subarray(2 * PART, 3 * PART);
  const tag = await blobs.parts.put({ id, storeRef, number: 3 }, [bytes] as never, bytes.length, never);
  await blobs.parts.complete(id, storeRef, parts.with(2, { number: 3, bytes: PART, tag }));
  expect((await readFile(paths.blob)).equals(payload)).toBe(true);
});

test('several processes at once, again and again: one payload, whole', async () => {
  await using folder = await freshFolder();
  const processes = Array.from({ length: 4 }, () => openDiskBlobs(folder.path));
  for (let round = 0; round < 20; round++) {
    const { id, storeRef, payload, parts } = await stored(processes[0] as (typeof processes)[0]);
    await Promise.all(processes.flatMap((blobs) => [1, 2].map(() => blobs.parts.complete(id, storeRef, parts))));
    expect((await readFile(pathsOf(folder.path, id).blob)).equals(payload)).toBe(true);
  }
});
