import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { freePort } from '@mayfly/local-stores/ports';
import { ConfigError } from '@mayfly/shared/config';
import { Unavailable } from '@mayfly/shared/errors';
import { startS3Fake } from '@mayfly/testing/s3-fake';
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { openBlobs } from '../src/open-blobs.ts';
import { pairedBlobs } from '../src/paired-blobs.ts';
import { openS3Blobs } from '../src/s3/blobs.ts';
import { memoryStoreRecord } from './memory-store-record.ts';

// What an S3 store does wrong, and what an operator does wrong with one.

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;
const patience = { answerMs: 400, stallMs: 2_000 };
const MiB = 1024 * 1024;

async function* pieces(count: number) {
  for (let i = 0; i < count; i++) yield Buffer.alloc(MiB, i);
}

const stack = new AsyncDisposableStack();
const fake = stack.use(await startS3Fake());
const config = fake.settings;
const blobs = stack.use(openS3Blobs(config, patience));
await blobs.create();

afterAll(() => stack.disposeAsync());

beforeEach(() => {
  fake.fault = () => undefined;
  fake.isPublic = false;
  fake.undeletable.clear();
});

const listed = async () => {
  const ids: string[] = [];
  for await (const page of blobs.list()) ids.push(...page.map(({ id }) => id));
  return ids;
};

async function stored(mebibytes: number): Promise<string> {
  const id = randomUUID();
  await blobs.put(id, pieces(mebibytes), mebibytes * MiB, never);
  return id;
}

async function opened(id: string): Promise<Readable> {
  const payload = await blobs.open(id);
  if (!payload) throw new Error('not stored');
  return payload;
}

describe('a store that fails', () => {
  test.each([
    ['answers nothing', 'silence' as const],
    ['answers 503', 503],
    ['breaks off', 'cut' as const],
  ])('in an upload: %s: Unavailable, nothing is stored, and the sender is not cut off', async (_, fault) => {
    const before = await listed();
    fake.fault = ({ method }) => (method === 'PUT' ? fault : undefined);
    let isDestroyed = false;
    const body = {
      async *[Symbol.asyncIterator]() {
        yield* pieces(20);
      },
      destroy() {
        isDestroyed = true;
      },
    };
    await expect(blobs.put(randomUUID(), body, 20 * MiB, never)).rejects.toBeInstanceOf(Unavailable);
    expect(isDestroyed).toBe(false);
    fake.fault = () => undefined;
    expect(await listed()).toEqual(before);
  });

  test.each([
    ['answers nothing', 'silence' as const],
    ['answers 503', 503],
  ])('before a download: %s: Unavailable', async (_, fault) => {
    const id = await stored(1);
    fake.fault = () => fault;
    await expect(blobs.open(id)).rejects.toBeInstanceOf(Unavailable);
  });

  test('in a download: the stream fails, it does not end early', async () => {
    const id = await stored(4);
    fake.fault = ({ method }) => (method === 'GET' ? 'cut' : undefined);
    await expect(buffer(await opened(id))).rejects.toThrow();
  });

  test('at a delete: the ids come back, to be tried again', async () => {
    const ids = [await stored(1), await stored(1)];
    fake.undeletable.add(`${ids[0]}.bin`);
    expect(await blobs.delete(ids)).toEqual([ids[0]]);
    fake.undeletable.clear();
    fake.fault = () => 'silence';
    expect(await blobs.delete(ids)).toEqual(ids);
    fake.fault = () => undefined;
    expect(await blobs.delete(ids)).toEqual([]);
  });

  test('at a listing: Unavailable, not a short list', async () => {
    await stored(1);
    fake.fault = ({ query }) => (query.has('list-type') ? 500 : undefined);
    await expect(listed()).rejects.toBeInstanceOf(Unavailable);
  });

  test('is noticed by the check', async () => {
    fake.fault = () => 'silence';
    await expect(blobs.check()).rejects.toBeInstanceOf(Unavailable);
    fake.fault = () => undefined;
    await expect(blobs.check()).resolves.toBeUndefined();
  });
});

test('a reader that leaves ends the connection to the store', async () => {
  const id = await stored(40);
  const payload = await opened(id);
  await once(payload, 'readable');
  expect(fake.open).toBe(1);
  payload.destroy();
  await once(payload, 'close');
  await expect.poll(() => fake.open).toBe(0);
});

test('a reader that is slow slows the store down', async () => {
  const id = await stored(40);
  const payload = await opened(id);
  await once(payload, 'readable');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(payload.readableLength).toBeLessThan(2 * MiB);
  expect((await buffer(payload)).length).toBe(40 * MiB);
});

describe('a bucket', () => {
  const pairedWith = (changes: Partial<typeof config>, record = memoryStoreRecord()) =>
    pairedBlobs(openS3Blobs({ ...config, ...changes }, patience), record, logger);
  const inBucket = (name: string) => ({ S3_BUCKET: name });

  test('is made when it is missing, by several processes at once', async () => {
    const record = memoryStoreRecord();
    const opened = await Promise.all([1, 2, 3].map(() => pairedWith(inBucket('made-at-once'), record)));
    for (const store of opened) {
      await expect(store.check()).resolves.toBeUndefined();
      await store[Symbol.asyncDispose]();
    }
  });

  test('that strangers can read prevents the start', async () => {
    fake.isPublic = true;
    await expect(pairedWith(inBucket('open-to-all'))).rejects.toThrow(ConfigError);
  });

  test('is left without a trace of the question', async () => {
    await using store = await pairedWith(inBucket('asked'));
    for await (const page of store.list()) expect(page).toEqual([]);
  });

  test('that the keys do not open prevents the start, and the message shows no key', async () => {
    const start = pairedWith({ S3_ACCESS_KEY: 'somebody-else' });
    await expect(start).rejects.toThrow(ConfigError);
    await expect(start).rejects.not.toThrow(/somebody-else/);
  });

  test('that is away at the start is used as soon as it is there', async () => {
    fake.fault = () => 503;
    await using store = await pairedWith(inBucket('late'));
    const id = randomUUID();
    await expect(store.check()).rejects.toBeInstanceOf(Unavailable);
    await expect(store.put(id, pieces(1), MiB, never)).rejects.toBeInstanceOf(Unavailable);
    fake.fault = () => undefined;
    await store.put(id, pieces(1), MiB, never);
    await expect(store.check()).resolves.toBeUndefined();
  });
});

describe('settings', () => {
  const settings = { ...config, BLOB_DIR: undefined };
  const record = memoryStoreRecord();

  test('without folder and endpoint say what is missing', async () => {
    await expect(openBlobs({ ...settings, S3_ENDPOINT: undefined }, record, logger)).rejects.toThrow(
      /BLOB_DIR or S3_ENDPOINT/,
    );
  });

  test('without keys say what is missing', async () => {
    await expect(openBlobs({ ...settings, S3_SECRET_KEY: undefined }, record, logger)).rejects.toThrow(/S3_SECRET_KEY/);
  });

  test('refuse an upload that is larger than an object can be', async () => {
    const start = openBlobs({ ...settings, MAX_FILE_SIZE: 5 * 1024 ** 3 + 1 }, record, logger);
    await expect(start).rejects.toThrow(/MAX_FILE_SIZE/);
  });

  test('that lead nowhere do not prevent the start: the store may come later', async () => {
    const nowhere = { ...settings, S3_ENDPOINT: `http://127.0.0.1:${await freePort()}` };
    await using store = await openBlobs(nowhere, record, logger);
    await expect(store.check()).rejects.toBeInstanceOf(Unavailable);
  });
});
