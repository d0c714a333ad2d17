import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { ByteReader } from '../src/byte-reader.ts';
import { fileSource } from '../src/node/file-source.ts';
import { disposed, release, releasing } from '../src/node/release.ts';

const SIZE_BYTES = 256 * 1024;

const streamOf = (...chunks: Uint8Array[]) => ReadableStream.from(chunks) as ReadableStream<Uint8Array>;

async function copied(stream: ReadableStream<Uint8Array>) {
  return new ByteReader(releasing(stream)).fill(new Uint8Array(2 * SIZE_BYTES));
}

test('what was made to be read once is given back when it was copied', async () => {
  const chunk = disposed(new Uint8Array(SIZE_BYTES).fill(7));
  const copy = await copied(streamOf(chunk));
  expect(copy).toEqual(new Uint8Array(SIZE_BYTES).fill(7));
  expect(chunk.length).toBe(0);
});

test.each([
  ['what somebody else may have', new Uint8Array(SIZE_BYTES)],
  ['a piece of something larger', disposed(new Uint8Array(SIZE_BYTES).subarray(1))],
])('%s is left alone', async (_, chunk) => {
  const { length } = chunk;
  await copied(streamOf(chunk));
  release(chunk.subarray(1));
  expect(chunk.length).toBe(length);
});

test('the stream of a file can be collected: nothing of it is given back', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'file');
  await writeFile(path, new Uint8Array(3 * SIZE_BYTES + 5).fill(7));
  const { stream, slice } = await fileSource(path);
  const all = Buffer.concat(await Array.fromAsync(stream()));
  const rest = Buffer.concat(await Array.fromAsync(slice?.(SIZE_BYTES).stream() ?? []));
  expect([all.length, rest.length]).toEqual([3 * SIZE_BYTES + 5, 2 * SIZE_BYTES + 5]);
  expect(all.every((byte) => byte === 7)).toBe(true);
});
