import { randomBytes } from 'node:crypto';
import { appendFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bytes, equal } from '../src/bytes.ts';
import type { PartBody } from '../src/encryption.ts';
import { deriveKeys, type Keys } from '../src/keys.ts';
import { nodeEncryption } from '../src/node/encryption.ts';
import { fileSource } from '../src/node/file-source.ts';
import { openPayload, openSegment } from '../src/open-payload.ts';
import { cutIntoParts } from '../src/parts.ts';
import { buildPayload, type Payload } from '../src/payload.ts';
import type { NativeKey } from '../src/segment-key.ts';
import { encryptSegments, segmentParameters } from '../src/segments.ts';
import { encryptedSize, SEGMENT_BYTES } from '../src/size.ts';
import type { StreamBody } from '../src/streams.ts';
import { collect, inPieces } from './bytes.ts';
import { patterned } from './reference.ts';

const { seal, streamParts, streamFrom } = nodeEncryption;
/** Around borders of segments, and of chunks of four of them. */
const SIZES = [0, 1, 4, 8].flatMap((count) => [-1, 0, 1].map((more) => Math.max(0, count * SEGMENT_BYTES + more)));

let folder: Awaited<ReturnType<typeof freshFolder>>;
let path: string;
let native: Keys;
let web: Keys;
beforeAll(async () => {
  folder = await freshFolder();
  path = join(folder.path, 'file');
  const [secret, salt] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(16))];
  native = await deriveKeys(secret, salt, undefined, nodeEncryption);
  web = await deriveKeys(secret, salt);
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Reads as the transport does: a chunk is written while the next one is made. */
async function sent(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const written: Buffer[] = [];
  let writing: Uint8Array = Buffer.of();
  for await (const chunk of stream) {
    written.push(Buffer.from(writing));
    writing = chunk;
  }
  return Buffer.concat([...written, writing]);
}

async function payloadOf(content: Uint8Array): Promise<Payload> {
  await writeFile(path, content);
  return buildPayload([await fileSource(path)]);
}

const sentPart = (part: PartBody) => sent((part.body() as StreamBody).stream);

describe('a payload that is encrypted while it is sent', () => {
  test.each(SIZES)('is what WebCrypto decrypts, and has the size that was said: %i bytes', async (size) => {
    const content = patterned(size);
    const ciphertext = await sent(seal(native.file, await payloadOf(content)));
    expect(ciphertext.length).toBe(encryptedSize(size));
    expect((await collect(openPayload(web, inPieces(ciphertext)))).equals(content)).toBe(true);
  });

  test.each(SIZES)('of WebCrypto is decrypted here: %i bytes', async (size) => {
    const content = patterned(size);
    const ciphertext = await collect(inPieces(content).pipeThrough(encryptSegments(web.file as CryptoKey)));
    expect((await collect(openPayload(native, inPieces(ciphertext)))).equals(content)).toBe(true);
  });

  test('of several files is their archive', async () => {
    const payload = buildPayload([await fileSource(path), await fileSource(path)]);
    const ciphertext = await sent(seal(native.file, payload));
    expect((await collect(openPayload(web, inPieces(ciphertext)))).length).toBe(payload.size);
  });

  test.each([
    ['longer', () => appendFile(path, 'x')],
    ['shorter', () => truncate(path, SEGMENT_BYTES)],
  ])('fails when the file becomes %s', async (_, change) => {
    const payload = await payloadOf(patterned(8 * SEGMENT_BYTES));
    await change();
    const failure = { code: 'bad-source', message: 'file changed while it was read' };
    await expect(sent(seal(native.file, payload))).rejects.toMatchObject(failure);
  });
});

test.each([0, 15, 16, 17, SEGMENT_BYTES + 16])('a change of byte %i is found', async (place) => {
  const parameters = segmentParameters(0, true);
  const key = native.file as NativeKey;
  const ciphertext = new Uint8Array(SEGMENT_BYTES + 17);
  key.seal(parameters, patterned(SEGMENT_BYTES + 1) as Bytes, ciphertext);
  const changed = ciphertext.slice();
  changed[place] = (changed[place] ?? 0) ^ 1;
  expect(equal(await openSegment(key, parameters, ciphertext), patterned(SEGMENT_BYTES + 1))).toBe(true);
  await expect(openSegment(key, parameters, changed)).rejects.toThrow();
});

describe.each([1, 3, 5])('parts of %i segments that are encrypted while they are sent', (segmentsPerPart) => {
  const content = patterned(7 * SEGMENT_BYTES + 5);
  const paddedSize = 9 * SEGMENT_BYTES + 1;
  const layout = { segmentsPerPart, paddedSize };
  const count = Math.ceil(paddedSize / SEGMENT_BYTES / segmentsPerPart);

  test('are the payload, read from a file at their places or held in memory', async () => {
    const seek = streamFrom(await payloadOf(content), native.payload, layout);
    const fromFile = Array.from({ length: count }, (_, index) => seek?.(index + 1) as PartBody);
    const cut = cutIntoParts(inPieces(content), segmentsPerPart, { padTo: () => paddedSize });
    const held = await Array.fromAsync(cut, streamParts(native.payload, segmentsPerPart));
    for (const parts of [fromFile, held]) {
      const bodies = await Promise.all(parts.map(sentPart));
      expect(parts.map(({ sizeBytes }) => sizeBytes)).toEqual(bodies.map(({ length }) => length));
      const opened = openPayload(web, inPieces(Buffer.concat(bodies)), { sizeBytes: content.length });
      expect((await collect(opened)).equals(content)).toBe(true);
    }
  });

  test('have another key at every try, which is still the same content', async () => {
    const seek = streamFrom(await payloadOf(content), native.payload, layout);
    const part = seek?.(1) as PartBody;
    const [one, other] = [await sentPart(part), await sentPart(part)];
    expect(one.subarray(8, 24)).not.toEqual(other.subarray(8, 24));
    for (const body of [one, other]) {
      const opened = await collect(openPayload(web, inPieces(body), { isCut: true }));
      expect(opened.equals(content.subarray(0, segmentsPerPart * SEGMENT_BYTES))).toBe(true);
    }
  });

  test.each([
    ['longer', () => appendFile(path, 'x')],
    ['shorter', () => truncate(path, content.length - 1)],
  ])('fail when the file becomes %s: the one that it ends in', async (_, change) => {
    const seek = streamFrom(await payloadOf(content), native.payload, layout);
    await change();
    const last = Math.ceil(content.length / SEGMENT_BYTES / segmentsPerPart);
    const failure = { code: 'bad-source', message: 'file changed while it was read' };
    await expect(sentPart(seek?.(last) as PartBody)).rejects.toMatchObject(failure);
  });
});

test('a part that failed has memory that no other part gets', async () => {
  const layout = { segmentsPerPart: 8, paddedSize: 16 * SEGMENT_BYTES };
  const seek = streamFrom(await payloadOf(patterned(layout.paddedSize)), native.payload, layout);
  const chunks = async (part: PartBody) => {
    const read = await Array.fromAsync((part.body() as StreamBody).stream, (chunk) => chunk.buffer);
    return new Set(read.slice(1)); // behind the header
  };
  const first = seek?.(1) as PartBody;
  const failed = await chunks(first);
  const again = await chunks(first);
  first.done();
  const second = await chunks(seek?.(2) as PartBody);
  expect([...again].some((buffer) => failed.has(buffer))).toBe(false);
  expect(second).toEqual(again);
});
