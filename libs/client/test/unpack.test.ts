import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentOffset } from '../src/entries.ts';
import { exactArchive } from '../src/exact-archive.ts';
import type { Metadata } from '../src/metadata.ts';
import { buildPayload } from '../src/payload.ts';
import { type UnpackFrom, unpack } from '../src/unpack.ts';
import { collect, fromHex, inPieces } from './bytes.ts';
import { patterned } from './reference.ts';
import vectors from './vectors.ts';

const { files, genuine, archives } = vectors.archives.forged;
const metadata: Metadata = { archive: 'zip', files: files.map((file) => ({ ...file, type: '' })) };
const GENUINE = Buffer.from(genuine, 'hex');

/** Reads everything, and tells which files were handed on as whole before it failed or ended. */
async function readAll(payload: ReadableStream<Uint8Array>, of = metadata, from?: UnpackFrom) {
  const whole: Buffer[] = [];
  try {
    for await (const { stream } of unpack(of, payload, from ? { from } : {})) whole.push(await collect(stream));
    return { whole, failure: undefined };
  } catch (failure) {
    return { whole, failure };
  }
}

describe('an archive is refused before its last file is whole', () => {
  test('and the genuine one is not', async () => {
    const { whole, failure } = await readAll(inPieces(GENUINE));
    expect([whole.map(String), failure]).toEqual([['one', 'twelve'], undefined]);
  });

  test.each(archives)('when it has $name', async ({ bytes }) => {
    for (const piece of [1, 17, 10_000]) {
      const { whole, failure } = await readAll(inPieces(fromHex(bytes), piece));
      expect(failure).toMatchObject({ code: 'tampered' });
      expect(whole.length).toBeLessThan(files.length);
    }
  });

  test('when any byte of it is another one, but for times', async () => {
    const accepted: number[] = [];
    for (let at = 0; at < GENUINE.length; at += 1) {
      const flipped = Buffer.from(GENUINE);
      flipped[at] = (flipped[at] ?? 0) ^ 0x20;
      const { whole, failure } = await readAll(inPieces(flipped));
      if (failure) expect(failure).toMatchObject({ code: 'tampered' });
      if (failure) expect(whole.length).toBeLessThan(files.length);
      else accepted.push(at);
    }
    const text = GENUINE.toString('latin1');
    const places = (signature: string, to: number) => [text.indexOf(signature) + to, text.lastIndexOf(signature) + to];
    const times = [...places('PK\u0003\u0004', 10), ...places('PK\u0001\u0002', 12)];
    expect(accepted).toEqual(times.flatMap((at) => [at, at + 1, at + 2, at + 3]));
  });

  test('when it ends at any byte before its end', async () => {
    for (let length = 0; length < GENUINE.length; length += 1) {
      const { whole, failure } = await readAll(inPieces(GENUINE.subarray(0, length)));
      expect(failure).toMatchObject({ code: 'tampered' });
      expect(whole.length).toBeLessThan(files.length);
    }
  });

  test('when nothing but its last file is empty, and it is followed by something', async () => {
    const sources = ['a', 'b'].map((name) => ({ name, size: 0, stream: () => inPieces(new Uint8Array(0)) }));
    const built = buildPayload(sources);
    const bytes = await collect(built.stream());
    expect((await readAll(inPieces(bytes), built.metadata)).whole).toHaveLength(2);
    const { whole, failure } = await readAll(inPieces(Buffer.concat([bytes, Buffer.alloc(1)])), built.metadata);
    expect([whole.length, failure]).toMatchObject([1, { code: 'tampered' }]);
  });

  test.each(archives)('by a receiver that wants none of its files, too: $name', async ({ bytes }) => {
    const skipAll = async () => {
      for await (const { stream } of unpack(metadata, inPieces(fromHex(bytes)))) await stream.cancel();
    };
    await expect(skipAll()).rejects.toMatchObject({ code: 'tampered' });
  });

  test('and asking for more after that fails, too', async () => {
    const { bytes = '' } = archives[0] ?? {};
    const entries = unpack(metadata, inPieces(fromHex(bytes)));
    await entries.next();
    const { value: last } = await entries.next();
    if (!last) throw new Error('there is no second file');
    await expect(collect(last.stream)).rejects.toMatchObject({ code: 'tampered' });
    await expect(entries.next()).rejects.toMatchObject({ code: 'tampered' });
  });

  test('and its payload is cancelled', async () => {
    let isCancelled = false;
    const { bytes = '' } = archives[0] ?? {};
    const endless = new ReadableStream<Uint8Array>({
      start: (to) => to.enqueue(fromHex(bytes)),
      cancel: () => {
        isCancelled = true;
      },
    });
    expect((await readAll(endless)).failure).toMatchObject({ code: 'tampered' });
    expect(isCancelled).toBe(true);
  });
});

describe('unpacking goes on', () => {
  const sizes = [1000, 0, 70_000, 3];
  const { metadata: described, stream } = buildPayload(
    sizes.map((size, index) => ({ name: `${index}`, size, stream: () => inPieces(patterned(size)) })),
  );
  const rest = async (index: number, bytes: number) =>
    (await collect(stream())).subarray(contentOffset(described, index, bytes));
  const written = (index: number, bytes: number) => inPieces(patterned(sizes[index] ?? 0).subarray(0, bytes), 999);

  test('at any byte of any file', async () => {
    const places = fc.nat(sizes.length - 1).chain((index) => fc.tuple(fc.constant(index), fc.nat(sizes[index] ?? 0)));
    await fc.assert(
      fc.asyncProperty(places, async ([index, bytes]) => {
        const from = { index, bytes, written: written(index, bytes) };
        const { whole, failure } = await readAll(inPieces(await rest(index, bytes)), described, from);
        expect(failure).toBeUndefined();
        const expected = sizes.slice(index).map((size, number) => patterned(size).subarray(number === 0 ? bytes : 0));
        expect(whole.map((one, number) => one.equals(expected[number] ?? one.subarray(1)))).toEqual(
          expected.map(() => true),
        );
      }),
      { numRuns: 40, examples: [[[0, 1000]], [[1, 0]], [[3, 3]], [[3, 0]]] },
    );
  });

  test('and fails when what was written before is not what the file begins with', async () => {
    const from = { index: 2, bytes: 500, written: inPieces(new Uint8Array(500)) };
    const { whole, failure } = await readAll(inPieces(await rest(2, 500)), described, from);
    expect([whole.length, failure]).toMatchObject([0, { code: 'tampered' }]);
  });

  test.each([
    ['is shorter', () => written(2, 499)],
    ['is longer', () => written(2, 501)],
    ['cannot be read', () => new ReadableStream<Uint8Array>({ start: (to) => to.error(new Error('EIO')) })],
  ])('and fails when what was written before %s', async (_, broken) => {
    const from = { index: 2, bytes: 500, written: broken() };
    const { failure } = await readAll(inPieces(await rest(2, 500)), described, from);
    expect(failure).toMatchObject({ code: 'bad-source' });
  });

  test('and the end of the archive is looked at all the same', async () => {
    const from = () => ({ index: 3, bytes: 1, written: written(3, 1) });
    const bytes = await rest(3, 1);
    for (const broken of [Buffer.concat([bytes, Buffer.alloc(1)]), bytes.subarray(0, -1), bytes.subarray(0, 18)]) {
      const { whole, failure } = await readAll(inPieces(broken), described, from());
      expect([whole.length, failure]).toMatchObject([0, { code: 'tampered' }]);
    }
  });

  test('nowhere else', async () => {
    for (const [index, bytes] of [
      [4, 0],
      [-1, 0],
      [0, 1001],
      [0, -1],
    ] as const) {
      const from = { index, bytes, written: written(0, 0) };
      const { failure } = await readAll(inPieces(new Uint8Array(0)), described, from);
      expect(failure).toMatchObject({ code: 'invalid-request' });
    }
  });

  test('in a file that is no archive, which needs no checksum', async () => {
    const single: Metadata = { files: [{ name: 'a', type: '', size: 5 }] };
    expect(contentOffset(single, 0, 3)).toBe(3);
    const from = { index: 0, bytes: 3, written: inPieces(patterned(3)) };
    const { whole } = await readAll(inPieces(patterned(5).subarray(3)), single, from);
    expect(whole.map((one) => [...one])).toEqual([[3, 4]]);
  });
});

describe('an archive that is kept as one file', () => {
  test('comes out as it is', async () => {
    for (const piece of [1, 50, 10_000]) {
      expect((await collect(exactArchive(metadata, inPieces(GENUINE, piece)))).equals(GENUINE)).toBe(true);
    }
    const single = inPieces(patterned(3));
    expect(exactArchive({ files: [{ name: 'a', type: '', size: 3 }] }, single)).toBe(single);
  });

  test.each(archives)('fails before its end when it has $name', async ({ bytes }) => {
    for (const piece of [1, 10_000]) {
      const kept = collect(exactArchive(metadata, inPieces(fromHex(bytes), piece)));
      await expect(kept).rejects.toMatchObject({ code: 'tampered' });
    }
  });

  test('can be given up while nothing comes', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const silent = new ReadableStream<Uint8Array>({
      start: (to) => to.enqueue(GENUINE.subarray(0, 36)),
      cancel: resolve,
    });
    const reader = exactArchive(metadata, silent).getReader();
    await reader.read();
    const read = reader.read();
    await reader.cancel('enough');
    expect([await promise, (await read).done]).toEqual(['enough', true]);
  });
});
