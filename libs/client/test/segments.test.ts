import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { randomBytes } from '../src/bytes.ts';
import { deriveKeys, type Keys } from '../src/keys.ts';
import { openPayload } from '../src/open-payload.ts';
import { encryptSegments } from '../src/segments.ts';
import { encryptedSize, HEADER_BYTES, plaintextSize, SEGMENT_BYTES, TAG_BYTES } from '../src/size.ts';
import { collect, inPieces } from './bytes.ts';
import { patterned } from './reference.ts';

const SEALED_BYTES = SEGMENT_BYTES + TAG_BYTES;

const newKeys = () => deriveKeys(randomBytes(32), randomBytes(16));
let keys: Keys;
beforeAll(async () => {
  keys = await newKeys();
});

const file = () => keys.file as CryptoKey; // no platform has derived it
const open = (ciphertext: ReadableStream<Uint8Array>) => openPayload(keys, ciphertext);
const encrypt = (plaintext: Uint8Array, piece?: number) =>
  collect(inPieces(plaintext, piece).pipeThrough(encryptSegments(file())));
const decrypt = (ciphertext: Uint8Array, piece?: number) => collect(open(inPieces(ciphertext, piece)));

/** A size within two bytes of a border between segments, or anywhere. */
const sizes = fc.oneof(
  fc
    .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: -2, max: 2 }))
    .map(([segments, offset]) => Math.max(0, segments * SEGMENT_BYTES + offset)),
  fc.integer({ min: 0, max: 300_000 }),
);

describe('a payload', () => {
  test('of any size, in pieces of any size, comes out as it went in and is as long as computed', async () => {
    const pieces = fc.integer({ min: 500, max: 200_000 });
    await fc.assert(
      fc.asyncProperty(sizes, pieces, pieces, async (size, pieceIn, pieceOut) => {
        const plaintext = patterned(size);
        const ciphertext = await encrypt(plaintext, pieceIn);
        expect(ciphertext.length).toBe(encryptedSize(size));
        expect((await decrypt(ciphertext, pieceOut)).equals(plaintext)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test('has a size that only one plaintext size has', () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 2 ** 45 }), (size) => plaintextSize(encryptedSize(size)) === size));
    expect(plaintextSize(0)).toBeUndefined();
    expect(plaintextSize(HEADER_BYTES + TAG_BYTES - 1)).toBeUndefined();
    expect(plaintextSize(HEADER_BYTES + TAG_BYTES)).toBe(0);
    // A second segment with nothing in it.
    expect(plaintextSize(HEADER_BYTES + SEALED_BYTES + TAG_BYTES)).toBeUndefined();
  });

  test('is never encrypted the same way twice', async () => {
    expect(await encrypt(patterned(100))).not.toEqual(await encrypt(patterned(100)));
  });

  test('is encrypted and decrypted in the memory of a few segments', async () => {
    const chunk = patterned(100_000);
    let read = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        read += 1;
        controller.enqueue(chunk);
      },
    });
    const reader = open(endless.pipeThrough(encryptSegments(file()))).getReader();
    for (let count = 0; count < 5; count += 1) await reader.read();
    // Nobody asks for more now: whatever is read ahead stays small.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(read).toBeLessThan(20);
    await reader.cancel();
  });
});

describe('a payload that was changed fails, whatever the change', () => {
  // Three full segments and a short one.
  const plaintext = patterned(3 * SEGMENT_BYTES + 1000);
  let whole: Buffer;
  let header: Buffer;
  let segments: Buffer[];
  beforeAll(async () => {
    whole = await encrypt(plaintext);
    header = whole.subarray(0, HEADER_BYTES);
    segments = [0, 1, 2, 3].map((index) => {
      const start = HEADER_BYTES + index * SEALED_BYTES;
      return whole.subarray(start, start + SEALED_BYTES);
    });
  });

  /** Fails, with a code of its own for an unknown version, and what came out before is the beginning of the plaintext. */
  async function expectTampered(ciphertext: Uint8Array, decryption = open) {
    const output: Uint8Array[] = [];
    const reading = (async () => {
      for await (const piece of decryption(inPieces(ciphertext))) output.push(piece);
    })();
    const code = Number(ciphertext[0]) > 2 ? 'newer-format' : 'tampered';
    await expect(reading).rejects.toMatchObject({ name: 'MayflyError', code });
    const seen = Buffer.concat(output);
    expect(seen.equals(plaintext.subarray(0, seen.length))).toBe(true);
    expect(seen.length).toBeLessThanOrEqual(3 * SEGMENT_BYTES);
  }
  const assemble = (...order: number[]) => Buffer.concat([header, ...order.map((index) => segments[index] as Buffer)]);

  test('the parts are what these tests take them for', async () => {
    expect((await decrypt(assemble(0, 1, 2, 3))).equals(plaintext)).toBe(true);
  });

  test('one bit anywhere', async () => {
    const anywhere = fc.integer({ min: 0, max: encryptedSize(plaintext.length) - 1 });
    const bits = fc.integer({ min: 0, max: 7 });
    await fc.assert(
      fc.asyncProperty(anywhere, bits, async (at, bit) => {
        const changed = Buffer.from(whole);
        changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
        await expectTampered(changed);
      }),
      { numRuns: 200 },
    );
  });

  test('every byte of the header, of the first bytes and of every tag', async () => {
    const places = [...Array(HEADER_BYTES + 4).keys()];
    for (let index = 0; index < 4; index += 1) {
      const end = Math.min(whole.length, HEADER_BYTES + (index + 1) * SEALED_BYTES);
      for (let back = 1; back <= TAG_BYTES + 1; back += 1) places.push(end - back);
    }
    for (const at of places) {
      const changed = Buffer.from(whole);
      changed.writeUInt8(changed.readUInt8(at) ^ 0x80, at);
      await expectTampered(changed);
    }
  });

  test('every byte of a short payload', async () => {
    const short = await encrypt(patterned(50));
    for (let at = 0; at < short.length; at += 1) {
      const changed = Buffer.from(short);
      changed.writeUInt8(changed.readUInt8(at) ^ 0x01, at);
      await expect(decrypt(changed)).rejects.toMatchObject({ code: 'tampered' });
    }
  });

  test('cut anywhere', async () => {
    const anywhere = fc.integer({ min: 0, max: encryptedSize(plaintext.length) - 1 });
    await fc.assert(
      fc.asyncProperty(anywhere, (length) => expectTampered(whole.subarray(0, length))),
      { numRuns: 100 },
    );
  });

  test('cut at a border between segments, and next to it', async () => {
    for (let index = 0; index <= 3; index += 1) {
      for (const offset of [-1, 0, 1, TAG_BYTES]) {
        await expectTampered(whole.subarray(0, HEADER_BYTES + index * SEALED_BYTES + offset));
      }
    }
    await expectTampered(whole.subarray(0, 0));
    await expectTampered(whole.subarray(0, HEADER_BYTES));
  });

  test('cut at a border when the payload ends there', async () => {
    const exact = await encrypt(patterned(2 * SEGMENT_BYTES));
    await expect(decrypt(exact.subarray(0, HEADER_BYTES + SEALED_BYTES))).rejects.toMatchObject({ code: 'tampered' });
  });

  test.each([
    ['two segments swapped', [1, 0, 2, 3]],
    ['the last segment earlier', [0, 1, 3, 2]],
    ['a segment twice', [0, 1, 1, 2, 3]],
    ['a segment in place of another', [0, 1, 1, 3]],
    ['the last segment twice', [0, 1, 2, 3, 3]],
    ['the first segment again at the end', [0, 1, 2, 3, 0]],
    ['a segment left out', [0, 2, 3]],
    ['the first segment left out', [1, 2, 3]],
    ['the last segment alone', [3]],
  ])('%s', (_, order) => expectTampered(assemble(...order)));

  test('something added', async () => {
    for (const size of [1, TAG_BYTES, SEGMENT_BYTES, SEALED_BYTES, SEALED_BYTES + 1]) {
      await expectTampered(Buffer.concat([whole, Buffer.alloc(size)]));
    }
    const empty = await encrypt(patterned(0));
    await expectTampered(Buffer.concat([whole, empty.subarray(HEADER_BYTES)]));
  });

  test('another payload of the same key: its header, one of its segments, its end', async () => {
    const other = await encrypt(plaintext);
    await expectTampered(Buffer.concat([other.subarray(0, HEADER_BYTES), whole.subarray(HEADER_BYTES)]));
    for (const index of [0, 1, 3]) {
      const mixed = Buffer.from(whole);
      const start = HEADER_BYTES + index * SEALED_BYTES;
      other.copy(mixed, start, start, start + SEALED_BYTES);
      await expectTampered(mixed);
    }
  });

  test('another version', async () => {
    for (const version of [0, 2, 3, 255]) await expectTampered(Buffer.concat([Buffer.of(version), whole.subarray(1)]));
  });

  test('another key', async () => {
    const other = await newKeys();
    await expectTampered(whole, (ciphertext) => openPayload(other, ciphertext));
  });

  test('a last segment with nothing in it, written by somebody who has the key', async () => {
    const first = await encrypt(patterned(SEGMENT_BYTES + 1));
    const own = new Uint8Array(first.subarray(0, HEADER_BYTES));
    const nonce = Buffer.concat([own.subarray(1), Buffer.of(0, 0, 0, 1, 1)]);
    const parameters = { name: 'AES-GCM', iv: nonce, tagLength: 128, additionalData: own };
    const last = await crypto.subtle.encrypt(parameters, file(), new Uint8Array(0));
    const forged = Buffer.concat([first.subarray(0, HEADER_BYTES + SEALED_BYTES), Buffer.from(last)]);
    await expect(decrypt(forged)).rejects.toMatchObject({ code: 'tampered' });
  });
});
