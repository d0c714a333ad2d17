import { describe, expect, test } from 'vitest';
import type { Content } from '../src/content.ts';
import { contentOffset, readEntry } from '../src/entries.ts';
import type { Metadata } from '../src/metadata.ts';
import { buildPayload } from '../src/payload.ts';
import { collect, fromHex, inPieces } from './bytes.ts';
import { patterned } from './reference.ts';
import vectors from './vectors.ts';

type Ranges = [number, number][];

/** Content in memory. Remembers what was read of it. */
function contentOf(metadata: Metadata, read: (start: number, end: number) => Uint8Array, size: number) {
  const ranges: Ranges = [];
  const content: Content = {
    metadata,
    size,
    read(start, end) {
      ranges.push([start, end]);
      return inPieces(read(start, end), 1000);
    },
    end: async () => {},
  };
  return { content, ranges };
}

const inMemory = (metadata: Metadata, bytes: Uint8Array) =>
  contentOf(metadata, (start, end) => bytes.subarray(start, end), bytes.length);

const { files, genuine, archives } = vectors.archives.forged;
const metadata: Metadata = { archive: 'zip', files: files.map((file) => ({ ...file, type: '' })) };

describe('one file of an archive', () => {
  test('is read by its index, whatever its name, and nothing else is', async () => {
    const twice = { archive: 'zip' as const, files: metadata.files.map((file) => ({ ...file, name: 'same' })) };
    const sources = [3, 70_000, 0].map((size, index) => ({
      name: `file ${index}`,
      size,
      stream: () => inPieces(patterned(size)),
    }));
    const built = buildPayload(sources);
    const { content, ranges } = inMemory(built.metadata, await collect(built.stream()));
    for (const [index, { size, name }] of sources.entries()) {
      expect((await collect(readEntry(content, index))).equals(patterned(size))).toBe(true);
      const [start, end] = ranges.pop() ?? [0, 0];
      expect(ranges).toEqual([]);
      expect(end - start).toBe(30 + name.length + size + 16);
      expect(contentOffset(built.metadata, index)).toBe(start + 30 + name.length);
    }
    expect(contentOffset(twice, 1)).toBeGreaterThan(contentOffset(twice, 0));
  });

  test.each(archives)('is refused when what is read of it is wrong: $name', async ({ bytes }) => {
    const { content } = inMemory(metadata, fromHex(bytes));
    const results = await Promise.allSettled(files.map(async (_, index) => collect(readEntry(content, index))));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    for (const failure of failures) expect(failure).toMatchObject({ code: 'tampered' });
    // The directory is not read. What has another size cannot be what the metadata says.
    const directoryAt = contentOffset(metadata, 1, 6) + 16;
    const isLikeGenuine = bytes.slice(0, 2 * directoryAt) === genuine.slice(0, 2 * directoryAt);
    expect(failures.length === 0).toBe(bytes.length === genuine.length && isLikeGenuine);
  });

  test('is refused when any byte of it is another one, but for its time', async () => {
    const start = contentOffset(metadata, 1) - 30 - 'folder/b.txt'.length;
    const end = contentOffset(metadata, 1, 6) + 16;
    const accepted: number[] = [];
    for (let at = start; at < end; at += 1) {
      const flipped = fromHex(genuine);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      const { content } = inMemory(metadata, flipped);
      await collect(readEntry(content, 1)).then(
        () => accepted.push(at - start),
        (error) => expect(error).toMatchObject({ code: 'tampered' }),
      );
    }
    expect(accepted).toEqual([10, 11, 12, 13]);
  });

  test('is refused when its content ends early', async () => {
    const bytes = fromHex(genuine);
    const { content } = contentOf(metadata, (start, end) => bytes.subarray(start, end - 1), bytes.length);
    await expect(collect(readEntry(content, 0))).rejects.toMatchObject({ code: 'tampered' });
  });

  test('can be given up, and its content is then cancelled', async () => {
    let isCancelled = false;
    const { content } = inMemory(metadata, fromHex(genuine));
    content.read = () =>
      new ReadableStream({
        pull: (to) => to.enqueue(fromHex(genuine)),
        cancel: () => {
          isCancelled = true;
        },
      });
    const reader = readEntry(content, 0).getReader();
    await reader.read();
    await reader.cancel();
    expect(isCancelled).toBe(true);
  });

  test('is found behind files of 4 GiB', async () => {
    for (const { files: described, size, records } of vectors.archives.written) {
      const large: Metadata = { archive: 'zip', files: described.map((file) => ({ ...file, type: '' })) };
      const read = (start: number, end: number) => {
        const pieces = records.flatMap(({ at: from, bytes }, index) => [
          { from, bytes: fromHex(bytes) },
          // The rest of large files is not read.
          { from: from + bytes.length / 2, bytes: patterned(Math.min(described[index]?.size ?? 0, 70_000)) },
        ]);
        const buffer = new Uint8Array(end - start);
        for (const { from, bytes } of pieces) {
          if (from + bytes.length <= start || from >= end) continue;
          const shown = bytes.subarray(Math.max(0, start - from), end - from);
          buffer.set(shown, Math.max(0, from - start));
        }
        return buffer;
      };
      const { content } = contentOf(large, read, size);
      for (const [index, file] of described.entries()) {
        if (file.size > 70_000) continue;
        expect((await collect(readEntry(content, index))).equals(patterned(file.size))).toBe(true);
      }
    }
  });

  test('that is not there cannot be read', () => {
    const { content } = inMemory(metadata, fromHex(genuine));
    for (const index of [-1, 2, 0.5]) {
      expect(() => readEntry(content, index)).toThrow(expect.objectContaining({ code: 'invalid-request' }));
    }
  });
});

test('a file that is no archive is the content itself', async () => {
  const single: Metadata = { files: [{ name: 'a', type: '', size: 5 }] };
  const { content, ranges } = inMemory(single, patterned(5));
  expect([...(await collect(readEntry(content, 0)))]).toEqual([0, 1, 2, 3, 4]);
  expect(ranges).toEqual([[0, 5]]);
});
