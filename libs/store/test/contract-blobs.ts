import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '@mayfly/shared/errors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BlobStore, LengthMismatch, type StoredBlob } from '../src/blobs.ts';

export type BlobsUnderTest = {
  blobs: BlobStore;
  /** Names of everything that is stored, also what is half written. */
  names: () => Promise<string[]>;
  close: () => PromiseLike<void>;
};

async function* pieces(...chunks: Buffer[]) {
  yield* chunks;
}

const never = new AbortController().signal;

/** What a blob store promises. */
export function blobsContract(name: string, open: () => Promise<BlobsUnderTest>) {
  describe(`blobs: ${name}`, () => {
    let blobs: BlobStore;
    let names: BlobsUnderTest['names'];
    let close: BlobsUnderTest['close'];
    beforeAll(async () => {
      ({ blobs, names, close } = await open());
    });
    afterAll(() => close());

    test('a blob is read as it was written', async () => {
      const id = randomUUID();
      const [one, two] = [randomBytes(70_000), randomBytes(3_000_000)];
      await blobs.put(id, pieces(one, two), one.length + two.length, never);
      const stream = await blobs.open(id);
      if (!stream) throw new Error('not stored');
      expect(Buffer.concat([one, two]).equals(await buffer(stream))).toBe(true);
      expect(await names()).toContain(`${id}.bin`);
    });

    test.each([0, 1, 65_536, 1_048_576, 1_048_577, 40_000_000])(
      'a blob of %i bytes is read whole',
      async (sizeBytes) => {
        const id = randomUUID();
        const blob = randomBytes(sizeBytes);
        await blobs.put(id, pieces(blob), sizeBytes, never);
        const stream = await blobs.open(id, sizeBytes);
        expect(stream && (await buffer(stream)).equals(blob)).toBe(true);
      },
    );

    test.each([0, 1, 65_536, 262_144])('a blob of %i bytes is read in one go', async (sizeBytes) => {
      const id = randomUUID();
      const blob = randomBytes(sizeBytes);
      await blobs.put(id, pieces(blob), sizeBytes, never);
      expect((await blobs.read(id, sizeBytes))?.equals(blob)).toBe(true);
      await expect(blobs.read(id, sizeBytes + 1)).rejects.toThrow(Unavailable);
      if (sizeBytes > 0) await expect(blobs.read(id, sizeBytes - 1)).rejects.toThrow(Unavailable);
      expect(await blobs.read(randomUUID(), sizeBytes)).toBeUndefined();
    });

    test.each([
      [0, 0],
      [1, 65_536],
      [2_999_000, 3_069_999],
      [0, 3_069_999],
    ])('the range from byte %i to %i is read, and nothing else', async (first, last) => {
      const id = randomUUID();
      const blob = randomBytes(3_070_000);
      await blobs.put(id, pieces(blob), blob.length, never);
      const stream = await blobs.open(id, blob.length, { first, last });
      expect(stream && (await buffer(stream)).equals(blob.subarray(first, last + 1))).toBe(true);
      await expect(blobs.open(id, blob.length + 1, { first, last })).rejects.toThrow(Unavailable);
      expect(await blobs.open(randomUUID(), blob.length, { first, last })).toBeUndefined();
    });

    test('a body of many chunks, fast and slow, is stored in order', async () => {
      const id = randomUUID();
      const chunks = Array.from({ length: 600 }, (_, index) => randomBytes((index * 7919) % 65_536));
      const body = async function* () {
        for (const [index, chunk] of chunks.entries()) {
          if (index % 50 === 0) await sleep(2);
          yield chunk;
        }
      };
      const blob = Buffer.concat(chunks);
      await blobs.put(id, body(), blob.length, never);
      const stream = await blobs.open(id, blob.length);
      expect(stream && (await buffer(stream)).equals(blob)).toBe(true);
    });

    test('a blob of another size than its upload cannot be opened', async () => {
      const id = randomUUID();
      await blobs.put(id, pieces(Buffer.alloc(20)), 20, never);
      for (const sizeBytes of [19, 21, 0]) {
        await expect(blobs.open(id, sizeBytes)).rejects.toBeInstanceOf(Unavailable);
      }
    });

    test('an unknown blob is undefined', async () => {
      expect(await blobs.open(randomUUID())).toBeUndefined();
    });

    test.each([
      ['short', [Buffer.alloc(10)]],
      ['long', [Buffer.alloc(10), Buffer.alloc(11)]],
    ])('a %s body is refused and nothing is left', async (_, chunks) => {
      const id = randomUUID();
      await expect(blobs.put(id, pieces(...chunks), 20, never)).rejects.toBeInstanceOf(LengthMismatch);
      expect(await blobs.open(id)).toBeUndefined();
      expect((await names()).filter((stored) => stored.includes(id))).toEqual([]);
    });

    test('a body that breaks off leaves nothing', async () => {
      const id = randomUUID();
      const broken = async function* () {
        yield Buffer.alloc(10);
        throw new Error('connection lost');
      };
      await expect(blobs.put(id, broken(), 20, never)).rejects.toThrow('connection lost');
      expect((await names()).filter((stored) => stored.includes(id))).toEqual([]);
    });

    test('an abort leaves nothing', async () => {
      const id = randomUUID();
      const controller = new AbortController();
      const endless = async function* () {
        yield Buffer.alloc(10);
        controller.abort();
        yield Buffer.alloc(10);
      };
      await expect(blobs.put(id, endless(), 20, controller.signal)).rejects.toThrow();
      expect((await names()).filter((stored) => stored.includes(id))).toEqual([]);
    });

    test('deleted blobs are gone, and those that never were are fine', async () => {
      const ids = [randomUUID(), randomUUID()];
      for (const id of ids) await blobs.put(id, pieces(Buffer.from('x')), 1, never);
      expect(await blobs.delete([...ids, randomUUID()])).toEqual([]);
      for (const id of ids) expect(await blobs.open(id)).toBeUndefined();
    });

    test('destroying a stream before its end is no error', async () => {
      const id = randomUUID();
      const blob = randomBytes(5_000_000);
      await blobs.put(id, pieces(blob), blob.length, never);
      const stream = await blobs.open(id);
      if (!stream) throw new Error('not stored');
      let failed: unknown;
      stream.once('error', (error) => {
        failed = error;
      });
      await once(stream, 'readable');
      stream.destroy();
      await once(stream, 'close');
      expect(failed).toBeUndefined();
    });

    test('a slow body is stored whole', async () => {
      const id = randomUUID();
      const slow = async function* () {
        for (let i = 0; i < 5; i++) {
          await sleep(100);
          yield Buffer.alloc(1_000, i);
        }
      };
      await blobs.put(id, slow(), 5_000, never);
      const stream = await blobs.open(id);
      expect(stream && (await buffer(stream)).length).toBe(5_000);
    });

    test('the list has every blob, in rising order of ids, and when it was stored', async () => {
      const ids = Array.from({ length: 5 }, () => randomUUID());
      for (const id of ids) await blobs.put(id, pieces(Buffer.from('x')), 1, never);
      const listed: StoredBlob[] = [];
      for await (const page of blobs.list()) listed.push(...page);
      const all = listed.map(({ id }) => id);
      expect(all).toEqual([...all].sort());
      expect(all).toEqual(expect.arrayContaining(ids));
      for (const { modifiedAt } of listed) expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(600_000);
      expect(new Set(all).size).toBe((await names()).length);
    });

    test('nothing is half written when nothing runs', async () => {
      const before = new Date(Date.now() + 60_000);
      expect(await blobs.endPartials(before, true, async () => new Set())).toBe(0);
    });

    test('a store that can be used says so', async () => {
      await expect(blobs.check()).resolves.toBeUndefined();
    });
  });
}
