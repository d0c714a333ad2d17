import { randomBytes, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { Unavailable } from '@mayfly/shared/errors';
import { startS3Fake } from '@mayfly/testing/s3-fake';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { PartsGone, PartsRefused } from '../src/blob-parts.ts';
import { openS3Blobs } from '../src/s3/blobs.ts';
import type { Part } from '../src/upload-sessions.ts';
import { partsContract } from './contract-parts.ts';

// What an S3 store does wrong with parts, on a fake that can be told to; and the contract on the fake itself.

const PART = 5 * 1024 * 1024;
const never = new AbortController().signal;
const stack = new AsyncDisposableStack();
const fake = stack.use(await startS3Fake());
const config = fake.settings;
const blobs = stack.use(openS3Blobs(config));
/** For what meets a fault, so that silence is told soon. */
const impatient = stack.use(openS3Blobs(config, { answerMs: 400, stallMs: 2_000, completeMs: 1_500 }));
await blobs.create();
afterAll(() => stack.disposeAsync());
beforeEach(() => {
  fake.fault = () => undefined;
});

partsContract('S3, a fake', PART, async () => {
  const own = openS3Blobs({ ...config, S3_BUCKET: 'contract' });
  await own.create();
  const names = async () => {
    const ids: string[] = [];
    for await (const page of own.list()) ids.push(...page.map(({ id }) => `${id}.bin`));
    return ids;
  };
  return { blobs: own, names, close: () => own[Symbol.asyncDispose]() };
});

async function* pieces(bytes: Buffer) {
  yield bytes;
}
async function put(id: string, storeRef: string, number: number, bytes: Buffer, by = blobs): Promise<Part> {
  const tag = await by.parts.put({ id, storeRef, number }, pieces(bytes), bytes.length, never);
  return { number, bytes: bytes.length, tag };
}
async function stored() {
  const id = randomUUID();
  const storeRef = await blobs.parts.begin(id);
  const [one, two] = [randomBytes(PART), randomBytes(1_000)];
  const parts = [await put(id, storeRef, 1, one), await put(id, storeRef, 2, two)];
  return { id, storeRef, parts, one, two };
}
async function read(id: string) {
  const stream = await blobs.open(id);
  return stream && buffer(stream);
}
const isCompletion = ({ method, query }: { method: string; query: URLSearchParams }) =>
  method === 'POST' && query.has('uploadId');

describe('a part', () => {
  test.each(['silence', 'cut', 503, 500] as const)(
    'whose store answers with %s is Unavailable; sent again it is stored',
    async (fault) => {
      const { id, storeRef, parts, one, two } = await stored();
      fake.fault = ({ method }) => (method === 'PUT' ? fault : undefined);
      await expect(put(id, storeRef, 2, two, impatient)).rejects.toBeInstanceOf(Unavailable);
      fake.fault = () => undefined;
      const again = await put(id, storeRef, 2, two);
      await blobs.parts.complete(id, storeRef, [parts[0] as Part, again]);
      expect((await read(id))?.equals(Buffer.concat([one, two]))).toBe(true);
    },
  );

  test('that was stored after its successor was recorded: the store’s bytes are taken, they are as good', async () => {
    const { id, storeRef, parts, one } = await stored();
    const late = randomBytes(1_000);
    await put(id, storeRef, 2, late);
    await blobs.parts.complete(id, storeRef, parts);
    expect((await read(id))?.equals(Buffer.concat([one, late]))).toBe(true);
  });

  test('of another length that was stored late is to come again, and no other', async () => {
    const { id, storeRef, parts, one, two } = await stored();
    await put(id, storeRef, 2, randomBytes(999));
    const refused = await blobs.parts.complete(id, storeRef, parts).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(PartsRefused);
    expect((refused as PartsRefused).numbers).toEqual([2]);
    const again = await put(id, storeRef, 2, two);
    await blobs.parts.complete(id, storeRef, [parts[0] as Part, again]);
    expect((await read(id))?.equals(Buffer.concat([one, two]))).toBe(true);
  });

  test('that ends when the upload is complete or aborted is gone', async () => {
    const { id, storeRef, parts } = await stored();
    const arrived = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<void>();
    const slow = async function* () {
      yield Buffer.alloc(500);
      arrived.resolve();
      await rest.promise;
      yield Buffer.alloc(500);
    };
    const late = blobs.parts.put({ id, storeRef, number: 2 }, slow(), 1_000, never);
    await arrived.promise;
    await blobs.parts.complete(id, storeRef, parts);
    rest.resolve();
    await expect(late).rejects.toBeInstanceOf(PartsGone);
    expect((await read(id))?.length).toBe(PART + 1_000);
  });
});

describe('completing', () => {
  test('an answer that is lost: whoever asks again finds it done', async () => {
    const { id, storeRef, parts } = await stored();
    await blobs.parts.complete(id, storeRef, parts);
    expect(fake.uploads.has(storeRef)).toBe(false);
    await blobs.parts.complete(id, storeRef, parts);
    await expect(
      blobs.parts.complete(id, storeRef, [...parts, { number: 3, bytes: 1, tag: 'x' }]),
    ).rejects.toBeInstanceOf(PartsGone);
  });

  test.each(['silence', 503, 500] as const)(
    'a store that answers with %s is Unavailable, and does it when asked again',
    async (fault) => {
      const { id, storeRef, parts } = await stored();
      fake.fault = (request) => (isCompletion(request) ? fault : undefined);
      await expect(impatient.parts.complete(id, storeRef, parts)).rejects.toBeInstanceOf(Unavailable);
      expect(await blobs.open(id)).toBeUndefined();
      fake.fault = () => undefined;
      await blobs.parts.complete(id, storeRef, parts);
      expect((await read(id))?.length).toBe(PART + 1_000);
    },
  );

  test('an error inside a 200 is none: Unavailable, and it is done when asked again', async () => {
    const { id, storeRef, parts } = await stored();
    fake.errorInside = 'InternalError';
    await expect(blobs.parts.complete(id, storeRef, parts)).rejects.toBeInstanceOf(Unavailable);
    expect(await blobs.open(id)).toBeUndefined();
    fake.errorInside = undefined;
    await blobs.parts.complete(id, storeRef, parts);
    expect((await read(id))?.length).toBe(PART + 1_000);
  });

  test('parts of more than one length are refused by a store that wants them equal: Unavailable, nothing is lost', async () => {
    const id = randomUUID();
    const storeRef = await blobs.parts.begin(id);
    const parts = [await put(id, storeRef, 1, randomBytes(PART)), await put(id, storeRef, 2, randomBytes(PART + 1))];
    parts.push(await put(id, storeRef, 3, randomBytes(10)));
    await expect(blobs.parts.complete(id, storeRef, parts)).rejects.toThrow();
    expect(fake.uploads.has(storeRef)).toBe(true);
  });

  test('an upload that somebody else completes: its parts have gone, and the payload is not seen at once; it is no loss', async () => {
    const { id, storeRef, parts, one, two } = await stored();
    await blobs.parts.complete(id, storeRef, parts);
    let looks = 0;
    fake.fault = ({ method }) => (method === 'HEAD' && ++looks < 3 ? 404 : undefined);
    await blobs.parts.complete(id, storeRef, parts);
    expect(looks).toBe(3);
    expect((await read(id))?.equals(Buffer.concat([one, two]))).toBe(true);
  });

  test('an upload that the store has forgotten is gone', async () => {
    const { id, storeRef, parts } = await stored();
    await blobs.parts.abort(id, storeRef);
    await expect(blobs.parts.complete(id, storeRef, parts)).rejects.toBeInstanceOf(PartsGone);
  });

  test.each([undefined, 404] as const)(
    'an upload that the store has forgotten is gone, also when it says so by errors of its own (%s)',
    async (listing) => {
      const { id, storeRef, parts } = await stored();
      await blobs.parts.abort(id, storeRef);
      fake.fault = (request) => (isCompletion(request) ? 500 : request.method === 'GET' ? listing : undefined);
      await expect(blobs.parts.complete(id, storeRef, parts)).rejects.toBeInstanceOf(PartsGone);
    },
  );
});

test.each(['silence', 503] as const)(
  'aborting at a store that answers with %s is Unavailable, to be tried again',
  async (fault) => {
    const { id, storeRef } = await stored();
    fake.fault = ({ method }) => (method === 'DELETE' ? fault : undefined);
    await expect(impatient.parts.abort(id, storeRef)).rejects.toBeInstanceOf(Unavailable);
    fake.fault = () => undefined;
    await blobs.parts.abort(id, storeRef);
    expect(fake.uploads.has(storeRef)).toBe(false);
  },
);

test('what belongs to no session is ended, in other buckets nothing is; what is young stays', async () => {
  const [kept, left] = [await stored(), await stored()];
  const arriving = async () => new Set([kept.id]);
  expect(await blobs.endPartials(new Date(Date.now() - 60_000), false, arriving)).toBe(0);
  const before = new Date(Date.now() + 60_000);
  expect(await blobs.endPartials(before, true, arriving)).toBeGreaterThan(0);
  expect(fake.uploads.has(left.storeRef)).toBe(true);
  await blobs.endPartials(before, false, arriving);
  expect([fake.uploads.has(kept.storeRef), fake.uploads.has(left.storeRef)]).toEqual([true, false]);
});
