import { randomBytes, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PartsGone, PartsRefused } from '../src/blob-parts.ts';
import { type BlobStore, LengthMismatch } from '../src/blobs.ts';
import type { Part } from '../src/upload-sessions.ts';

export type PartsUnderTest = {
  blobs: BlobStore;
  /** Names of everything that is stored, parts included where the store shows them. */
  names: () => Promise<string[]>;
  close: () => PromiseLike<void>;
};

const never = new AbortController().signal;
async function* pieces(...chunks: Buffer[]) {
  yield* chunks;
}

/** What a blob store promises of payloads that come in parts, all but the last of `partBytes`. */
export function partsContract(name: string, partBytes: number, open: () => Promise<PartsUnderTest>) {
  describe(`parts: ${name}`, () => {
    let { blobs, names, close } = {} as PartsUnderTest;
    beforeAll(async () => {
      ({ blobs, names, close } = await open());
    });
    afterAll(() => close());

    const bytesOf = (number: number, count: number) => (number === count ? 1_000 : partBytes);
    async function put(id: string, storeRef: string, number: number, bytes: Buffer): Promise<Part> {
      const tag = await blobs.parts.put({ id, storeRef, number }, pieces(bytes), bytes.length, never);
      return { number, bytes: bytes.length, tag };
    }
    /** A payload that is all there but not complete; its parts were stored in this order. */
    async function stored(order: number[]) {
      const id = randomUUID();
      const storeRef = await blobs.parts.begin(id);
      const payload = randomBytes((order.length - 1) * partBytes + 1_000);
      const parts: Part[] = [];
      for (const number of order) {
        const from = (number - 1) * partBytes;
        parts.push(await put(id, storeRef, number, payload.subarray(from, from + bytesOf(number, order.length))));
      }
      return { id, storeRef, payload, parts: parts.sort((a, b) => a.number - b.number) };
    }
    async function read(id: string) {
      const stream = await blobs.open(id);
      return stream && buffer(stream);
    }
    const endPartials = (kept: string[], isDryRun = false) =>
      blobs.endPartials(new Date(Date.now() + 60_000), isDryRun, async () => new Set(kept));

    test('a payload is nowhere before it is complete, and then it is what its parts were, in one blob', async () => {
      const { id, storeRef, payload, parts } = await stored([3, 1, 2]);
      expect(await blobs.open(id)).toBeUndefined();
      for await (const page of blobs.list()) expect(page.map((blob) => blob.id)).not.toContain(id);
      await blobs.parts.complete(id, storeRef, parts);
      expect((await read(id))?.equals(payload)).toBe(true);
      expect((await names()).filter((one) => one.includes(id))).toEqual([`${id}.bin`]);
    });

    test('one part is enough', async () => {
      const { id, storeRef, payload, parts } = await stored([1]);
      await blobs.parts.complete(id, storeRef, parts);
      expect((await read(id))?.equals(payload)).toBe(true);
    });

    test('completing it again, and twenty times at once, changes nothing', async () => {
      const { id, storeRef, payload, parts } = await stored([1, 2, 3]);
      await Promise.all(Array.from({ length: 20 }, () => blobs.parts.complete(id, storeRef, parts)));
      await blobs.parts.complete(id, storeRef, parts);
      expect((await read(id))?.equals(payload)).toBe(true);
    });

    test('of twenty tries of a part at once each gets a tag that stands for its bytes, or for other tries of as many', async () => {
      const { id, storeRef, payload, parts } = await stored([1, 2]);
      const last = payload.subarray(partBytes);
      const tries = await Promise.all(
        Array.from({ length: 20 }, (_, index) => put(id, storeRef, 2, index % 2 ? last : randomBytes(last.length))),
      );
      for (const { tag } of tries.slice(0, 19)) await blobs.parts.drop({ id, storeRef, number: 2 }, tag);
      await blobs.parts.complete(id, storeRef, [parts[0] as Part, tries[19] as Part]);
      expect((await read(id))?.length).toBe(payload.length);
      expect((await read(id))?.subarray(0, partBytes).equals(payload.subarray(0, partBytes))).toBe(true);
    });

    test.each([
      ['short', 10],
      ['long', 30],
    ])('a %s part is refused, and the one before stays', async (_, length) => {
      const { id, storeRef, payload, parts } = await stored([1, 2]);
      const place = { id, storeRef, number: 2 };
      await expect(blobs.parts.put(place, pieces(randomBytes(length)), 20, never)).rejects.toBeInstanceOf(
        LengthMismatch,
      );
      await blobs.parts.complete(id, storeRef, parts);
      expect((await read(id))?.equals(payload)).toBe(true);
    });

    test('a part that breaks off or is aborted leaves nothing', async () => {
      const { id, storeRef, parts } = await stored([1, 2]);
      const before = await names();
      const controller = new AbortController();
      const endless = async function* () {
        yield Buffer.alloc(10);
        controller.abort();
        yield Buffer.alloc(10);
      };
      const broken = async function* () {
        yield Buffer.alloc(10);
        throw new Error('connection lost');
      };
      const place = { id, storeRef, number: 1 };
      await expect(blobs.parts.put(place, endless(), 20, controller.signal)).rejects.toThrow();
      await expect(blobs.parts.put(place, broken(), 20, never)).rejects.toThrow('connection lost');
      expect(await names()).toEqual(before);
      await blobs.parts.complete(id, storeRef, parts);
    });

    test('a part that the store does not have is named, and the payload is completed when it has come', async () => {
      const { id, storeRef, payload, parts } = await stored([1, 2, 3]);
      const second = parts[1] as Part;
      const missing = { number: 4, bytes: 1_000, tag: randomUUID() };
      const whole = [...parts.slice(0, 2), { ...(parts[2] as Part) }, missing];
      const refused = await blobs.parts.complete(id, storeRef, whole).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(PartsRefused);
      expect((refused as PartsRefused).numbers).toContain(4);
      expect(await blobs.open(id)).toBeUndefined();
      const again = await put(id, storeRef, 2, payload.subarray(partBytes, 2 * partBytes));
      await blobs.parts.complete(id, storeRef, [parts[0] as Part, { ...again, bytes: second.bytes }, parts[2] as Part]);
      expect((await read(id))?.equals(payload)).toBe(true);
    });

    test('after its completion it takes no part, and stays as it is', async () => {
      const { id, storeRef, payload, parts } = await stored([1, 2]);
      await blobs.parts.complete(id, storeRef, parts);
      await expect(put(id, storeRef, 2, randomBytes(1_000))).rejects.toBeInstanceOf(PartsGone);
      await blobs.parts.abort(id, storeRef);
      expect((await read(id))?.equals(payload)).toBe(true);
    });

    test('aborted it is gone, as often as one likes', async () => {
      const { id, storeRef, parts } = await stored([1, 2]);
      await blobs.parts.abort(id, storeRef);
      await blobs.parts.abort(id, storeRef);
      expect((await names()).filter((one) => one.includes(id))).toEqual([]);
      await expect(put(id, storeRef, 1, randomBytes(1_000))).rejects.toBeInstanceOf(PartsGone);
      await expect(blobs.parts.complete(id, storeRef, parts)).rejects.toBeInstanceOf(PartsGone);
    });

    test('parts that belong to a session are left alone, others are half-written leftovers', async () => {
      const [kept, left] = [await stored([1, 2]), await stored([1, 2])];
      const found = await endPartials([kept.id], true);
      expect(await endPartials([kept.id])).toBe(found);
      await blobs.parts.complete(kept.id, kept.storeRef, kept.parts);
      expect((await read(kept.id))?.equals(kept.payload)).toBe(true);
      if (found > 0) await expect(put(left.id, left.storeRef, 1, randomBytes(partBytes))).rejects.toThrow(PartsGone);
      expect(await endPartials([], true)).toBe(0);
      await blobs.parts.abort(left.id, left.storeRef);
    });
  });
}
