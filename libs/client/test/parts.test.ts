import { UPLOAD_INFO } from '@mayfly/testing/good-answers';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Bytes } from '../src/bytes.ts';
import { MayflyClient, type Transport } from '../src/index.ts';
import { deriveKeys, type Keys } from '../src/keys.ts';
import {
  chooseSegmentsPerPart,
  layOut,
  partBytes,
  partCount,
  partedCapacity,
  partedPlaintextSize,
  partedSize,
} from '../src/layout.ts';
import { sealMessage } from '../src/message.ts';
import { openPayload } from '../src/open-payload.ts';
import { padme } from '../src/padding.ts';
import { cutIntoParts, encryptPart, type PlainPart } from '../src/parts.ts';
import { SEGMENT_BYTES } from '../src/size.ts';
import { collect, fromHex, inPieces, sha256 } from './bytes.ts';
import * as reference from './parts-reference.ts';
import { patterned } from './reference.ts';
import vectors from './vectors.ts';

const { padme: paddedSizes, payloads, opened, refused, twoKeys } = vectors.inParts;
const buffer = (hex: string) => Buffer.from(hex, 'hex');
const keysOf = ({ secret, salt }: { secret: string; salt: string } = vectors.keys) =>
  deriveKeys(fromHex(secret), fromHex(salt));
const payloadKey = buffer(vectors.keys.payloadKey);

type Sealing = { paddedSize?: number; random?: () => Bytes };

async function seal(
  keys: Keys,
  content: Uint8Array,
  segmentsPerPart: number,
  { paddedSize = content.length, random }: Sealing = {},
): Promise<Buffer> {
  const parts: Bytes[] = [];
  for await (const part of cutIntoParts(inPieces(content), segmentsPerPart, { padTo: () => paddedSize })) {
    parts.push(await encryptPart(keys.payload, part, segmentsPerPart, random));
  }
  return Buffer.concat(parts);
}

const plaintexts = payloads.map(({ size, paddedSize }) => reference.padded(patterned(size), paddedSize));
const sealed = payloads.map(({ payloadKey, segmentsPerPart, partSalts }, index) =>
  reference.sealPayload(buffer(payloadKey), segmentsPerPart, partSalts.map(buffer), plaintexts[index] as Buffer),
);

type Pieces = ({ payload: number; from: number; to: number } | { hex: string })[];

function assemble(pieces: Pieces, flip?: { at: number; mask: number }): Buffer {
  const parts = pieces.map((piece) =>
    'hex' in piece ? buffer(piece.hex) : (sealed[piece.payload] as Buffer).subarray(piece.from, piece.to),
  );
  const whole = Buffer.concat(parts);
  if (flip) whole.writeUInt8(whole.readUInt8(flip.at) ^ flip.mask, flip.at);
  return whole;
}

describe('an independent implementation agrees with the known answers', () => {
  test.each(payloads.map((payload, index) => ({ ...payload, index })))('$name', (payload) => {
    const { secret, salt, payloadKey, keyCommitment, segmentsPerPart, partSalts, partKeys, size, index } = payload;
    expect(reference.payloadKey(buffer(secret), buffer(salt)).toString('hex')).toBe(payloadKey);
    expect(reference.keyCommitment(buffer(payloadKey)).toString('hex')).toBe(keyCommitment);
    const headers = partSalts.map((partSalt, at) =>
      reference.partHeader(segmentsPerPart, at + 1, buffer(partSalt), buffer(keyCommitment)),
    );
    expect(headers.map((header) => reference.partKey(buffer(payloadKey), header).toString('hex'))).toEqual(partKeys);
    const ciphertext = sealed[index] as Buffer;
    expect([ciphertext.length, sha256(ciphertext)]).toEqual([payload.encryptedSize, payload.sha256]);
    if (payload.ciphertext) expect(ciphertext.toString('hex')).toBe(payload.ciphertext);
    const content = reference.openParts(buffer(payloadKey), ciphertext, { contentBytes: size });
    expect(content.equals(patterned(size))).toBe(true);
  });

  test.each(paddedSizes)('$size bytes are padded to $paddedSize', ({ size, paddedSize }) => {
    expect(reference.padme(size)).toBe(paddedSize);
    expect(padme(size)).toBe(paddedSize);
  });

  test.each(opened)('it opens $name', ({ pieces, plaintextFrom, plaintextBytes, ...how }) => {
    const plaintext = reference.openParts(payloadKey, assemble(pieces), how);
    const expected = patterned(plaintextFrom + plaintextBytes).subarray(plaintextFrom);
    expect(plaintext.equals(expected)).toBe(true);
  });

  test.each(refused)('it refuses $name', ({ pieces, flip, code, ...how }) => {
    expect(() => reference.openParts(payloadKey, assemble(pieces, flip), how)).toThrow(code);
  });

  test('a ciphertext that opens under two keys is refused under the one that it does not commit to, and only then', () => {
    const ciphertext = buffer(twoKeys.ciphertext);
    const open = (commits: boolean) =>
      twoKeys.keys.map(({ secret, salt }) => () => {
        const key = reference.payloadKey(buffer(secret), buffer(salt));
        return reference.openParts(key, ciphertext, { commits }).toString('hex');
      });
    const contents = twoKeys.keys.map(({ plaintext }) => plaintext);
    expect(open(false).map((read) => read())).toEqual(contents);
    const [one, other] = open(true);
    expect(one?.()).toBe(contents[0]);
    expect(other).toThrow('tampered: another key');
  });
});

function optionsOf({ firstPart, contentBytes }: { firstPart: number; contentBytes?: number }) {
  return contentBytes === undefined ? { firstPart } : { firstPart, sizeBytes: contentBytes };
}

describe('the library agrees with the known answers', () => {
  test.each(payloads)('$name', async ({ size, paddedSize, segmentsPerPart, ...expected }) => {
    const keys = await keysOf(expected);
    const salts = expected.partSalts.map(fromHex).values();
    const random = () => salts.next().value as Bytes;
    const ciphertext = await seal(keys, patterned(size), segmentsPerPart, { paddedSize, random });
    expect(sha256(ciphertext)).toBe(expected.sha256);
    expect(ciphertext).toHaveLength(expected.encryptedSize);
    expect(partedSize(paddedSize, segmentsPerPart)).toBe(expected.encryptedSize);
    expect(partedPlaintextSize(expected.encryptedSize, segmentsPerPart)).toBe(paddedSize);
    const content = await collect(openPayload(keys, inPieces(ciphertext), { sizeBytes: size }));
    expect(content.equals(patterned(size))).toBe(true);
  });

  test('a ciphertext that opens under two keys opens under the one that it commits to', async () => {
    const [one, other] = await Promise.all(twoKeys.keys.map(keysOf));
    const open = (keys?: Keys) => collect(openPayload(keys as Keys, inPieces(buffer(twoKeys.ciphertext))));
    expect((await open(one)).toString('hex')).toBe(twoKeys.keys[0]?.plaintext);
    await expect(open(other)).rejects.toMatchObject({ name: 'MayflyError', code: 'tampered' });
  });

  test.each(opened)('it opens $name', async ({ pieces, plaintextFrom, plaintextBytes, ...how }) => {
    const plaintext = await collect(openPayload(await keysOf(), inPieces(assemble(pieces)), optionsOf(how)));
    expect(plaintext.equals(patterned(plaintextFrom + plaintextBytes).subarray(plaintextFrom))).toBe(true);
  });

  test.each(refused)('it refuses $name, after nothing but what was verified', async (vector) => {
    const { firstPart, pieces, flip, code } = vector;
    const output: Uint8Array[] = [];
    const payload = openPayload(await keysOf(), inPieces(assemble(pieces, flip)), optionsOf(vector));
    const reading = (async () => {
      for await (const piece of payload) output.push(piece);
    })();
    await expect(reading).rejects.toMatchObject({ name: 'MayflyError', code });
    const seen = Buffer.concat(output);
    const from = (firstPart - 1) * SEGMENT_BYTES; // where it is not 1, parts have one segment
    expect(seen.equals(patterned(4 * SEGMENT_BYTES + 7).subarray(from, from + seen.length))).toBe(true);
  });
});

describe('a payload in parts', () => {
  const perPart = fc.integer({ min: 1, max: 3 });
  /** A size within two bytes of a border between segments, or anywhere. */
  const sizes = fc.oneof(
    fc
      .tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: -2, max: 2 }))
      .map(([segments, offset]) => Math.max(0, segments * SEGMENT_BYTES + offset)),
    fc.integer({ min: 0, max: 500_000 }),
  );

  test('of any size, in pieces of any size, comes out as it went in, from any part on, whoever decrypts it', async () => {
    const keys = await keysOf();
    const pieces = fc.integer({ min: 500, max: 300_000 });
    await fc.assert(
      fc.asyncProperty(sizes, perPart, pieces, fc.nat(), async (size, segmentsPerPart, piece, anyPart) => {
        const paddedSize = padme(size);
        const plaintext = reference.padded(patterned(size), paddedSize);
        const ciphertext = await seal(keys, patterned(size), segmentsPerPart, { paddedSize });
        expect(ciphertext.length).toBe(partedSize(paddedSize, segmentsPerPart));
        const content = reference.openParts(payloadKey, ciphertext, { contentBytes: size });
        expect(content.equals(patterned(size))).toBe(true);
        const skipped = anyPart % Math.ceil(ciphertext.length / partBytes(segmentsPerPart));
        const rest = inPieces(ciphertext.subarray(skipped * partBytes(segmentsPerPart)), piece);
        const opened = await collect(openPayload(keys, rest, { firstPart: skipped + 1 }));
        expect(opened.equals(plaintext.subarray(skipped * segmentsPerPart * SEGMENT_BYTES))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test('has a size that only one plaintext size has', () => {
    const anySize = fc.integer({ min: 0, max: 2 ** 45 });
    const anyParts = fc.integer({ min: 1, max: 2 ** 24 - 1 });
    const isInverse = (size: number, perPart: number) =>
      partedPlaintextSize(partedSize(size, perPart), perPart) === size;
    fc.assert(fc.property(anySize, anyParts, isInverse));
    fc.assert(fc.property(sizes, perPart, isInverse));
    // Nothing at all; a tag too little; a second segment and a second part with nothing in them.
    for (const bytes of [0, 71, partBytes(1) + 16, partBytes(1) + 72, partBytes(2) + 16 - 65_552]) {
      expect(partedPlaintextSize(bytes, 1)).toBeUndefined();
    }
  });

  test('is decrypted in the memory of a few segments', async () => {
    const keys = await keysOf();
    const [part] = await Array.fromAsync(cutIntoParts(inPieces(patterned(40 * SEGMENT_BYTES)), 32));
    const ciphertext = part && (await encryptPart(keys.payload, part, 32));
    let read = 0;
    const counted = inPieces(ciphertext as Bytes, 10_000).pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          read += chunk.length;
          controller.enqueue(chunk);
        },
      }),
    );
    const reader = openPayload(keys, counted).getReader();
    for (let count = 0; count < 5; count += 1) await reader.read();
    // Nobody asks for more now: whatever is read ahead stays small.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(read).toBeLessThan(9 * SEGMENT_BYTES);
    await reader.cancel();
  });

  test('that breaks off does so with the error of its source, which is told when nobody reads on', async () => {
    const keys = await keysOf();
    const broken = new ReadableStream<Uint8Array>({ pull: () => Promise.reject(new Error('broken')) });
    await expect(collect(openPayload(keys, broken))).rejects.toThrow('broken');
    const cancel = vi.fn();
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Buffer.alloc(99)),
      cancel,
    });
    await expect(collect(openPayload(keys, endless))).rejects.toMatchObject({ code: 'tampered' });
    expect(cancel).toHaveBeenCalled();
  });
});

describe('10,000 tries of parts whose contents change', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** How many pairs of key and nonce were used more than once. */
  async function repeatedPairs(count: number, random?: () => Bytes): Promise<number> {
    const keys = await keysOf();
    const derived = new Map<CryptoKey, string>();
    const pairs = new Map<string, number>();
    const { deriveKey, encrypt } = crypto.subtle;
    vi.spyOn(crypto.subtle, 'deriveKey').mockImplementation(async (...args) => {
      const key = await deriveKey.apply(crypto.subtle, args);
      const { salt, info } = args[0] as { salt: Bytes; info: Bytes };
      expect(Buffer.from(info).toString()).toBe('mayfly v2 part key');
      derived.set(key, reference.partKey(payloadKey, Buffer.from(salt)).toString('hex'));
      return key;
    });
    vi.spyOn(crypto.subtle, 'encrypt').mockImplementation(async (...args) => {
      const { iv } = args[0] as { iv: Bytes };
      const pair = `${derived.get(args[1])} ${Buffer.from(iv).toString('hex')}`;
      pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      return encrypt.apply(crypto.subtle, args);
    });
    for (let tries = 0; tries < count; tries += 1) {
      const isLast = tries % 20 !== 0;
      // Mostly short ones: what counts is how often it begins anew.
      const plaintext = new Uint8Array(isLast ? 1 + (tries % 300) : SEGMENT_BYTES).fill(tries);
      await encryptPart(keys.payload, { number: 1 + (tries % 3), plaintext, isLast }, 1, random);
    }
    expect([...derived.values()]).not.toContain(undefined);
    return [...pairs.values()].filter((times) => times > 1).length;
  }

  test('never use a key and a nonce twice', async () => {
    expect(await repeatedPairs(10_000)).toBe(0);
  });

  test('would be found out if they did', async () => {
    expect(await repeatedPairs(100, () => new Uint8Array(16))).toBeGreaterThan(0);
  });
});

describe('padding', () => {
  /** Of every order of magnitude. */
  const sizes = fc.tuple(
    fc.integer({ min: 0, max: 53 }),
    fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  );
  const anySize = sizes
    .map(([exponent, place]) => Math.floor(2 ** exponent * (1 + place)) - 1)
    .filter((size) => size < 2 ** 53);

  test('is Padmé: as much as the paper says, little of the size is left to see, and little is added', () => {
    fc.assert(
      fc.property(anySize, (size) => {
        const paddedSize = padme(size);
        expect(paddedSize).toBe(reference.padme(size));
        expect(padme(paddedSize)).toBe(paddedSize);
        expect(paddedSize).toBeGreaterThanOrEqual(size);
        if (size < 2) return;
        const exponent = BigInt(size).toString(2).length - 1;
        const bits = exponent.toString(2).length;
        expect((paddedSize - size) * 2 ** bits).toBeLessThanOrEqual(size);
        // As a floating-point number it has no more digits in its mantissa than in its exponent.
        expect(BigInt(paddedSize) % (1n << BigInt(exponent - bits))).toBe(0n);
      }),
      { numRuns: 10_000 },
    );
  });

  const anyParts = fc.record({
    minBytes: fc.integer({ min: 1, max: 5_170_000 }),
    maxBytes: fc.integer({ min: 5_242_880, max: 99_000_000 }),
    maxParts: fc.integer({ min: 1, max: 10_000 }),
    maxFileSize: anySize,
    sessionSec: fc.constant(1),
  });

  test('never makes too large what fits without it, and is Padmé’s or reaches the limit', () => {
    let fitting = 0;
    fc.assert(
      fc.property(anySize, anyParts, (size, uploadParts) => {
        const { maxParts, maxBytes, maxFileSize } = uploadParts;
        fc.pre(size <= partedCapacity(uploadParts));
        const { segmentsPerPart, paddedSize } = layOut(size, uploadParts);
        const encryptedSize = partedSize(paddedSize, segmentsPerPart);
        expect(partBytes(segmentsPerPart)).toBeLessThanOrEqual(maxBytes);
        expect(partCount(paddedSize, segmentsPerPart)).toBeLessThanOrEqual(maxParts);
        if (encryptedSize > maxFileSize) {
          expect(paddedSize).toBe(size);
          expect(partedSize(size, chooseSegmentsPerPart(size, uploadParts))).toBeGreaterThan(maxFileSize);
          return;
        }
        fitting += 1;
        const isLargest =
          partedSize(paddedSize + 1, segmentsPerPart) > maxFileSize || paddedSize === partedCapacity(uploadParts);
        expect(paddedSize === padme(size) || isLargest).toBe(true);
      }),
      { numRuns: 10_000 },
    );
    expect(fitting).toBeGreaterThan(1_000);
  });

  test('is the same from any part on, whether the content ends before it or not', async () => {
    const content = patterned(2 * SEGMENT_BYTES + 9);
    const padTo = () => 5 * SEGMENT_BYTES + 1;
    const cut = (firstPart: number) =>
      Array.fromAsync(
        cutIntoParts(inPieces(content.subarray((firstPart - 1) * SEGMENT_BYTES)), 1, { firstPart, padTo }),
        ({ release: _, ...part }) => part,
      );
    const all = await cut(1);
    expect(all).toHaveLength(6);
    for (let first = 1; first <= 6; first += 1) expect(await cut(first)).toEqual(all.slice(first - 1));
  });

  test('is cut into the memory of parts that were released, and into no other', async () => {
    const content = patterned(4 * SEGMENT_BYTES);
    const parts = cutIntoParts(inPieces(content), 1);
    const next = async () => (await parts.next()).value as PlainPart;
    const [first, second] = [await next(), await next()];
    first.release();
    const third = await next();
    expect(third.plaintext.buffer).toBe(first.plaintext.buffer);
    const fourth = await next();
    const whole = [second, third, fourth].map(({ plaintext }) => plaintext);
    expect(Buffer.concat(whole).equals(content.subarray(SEGMENT_BYTES))).toBe(true);
  });
});

test.each([
  ['of a newer format', { size: 1, format: 3, segmentsPerPart: { newer: true } }, 'newer-format'],
  ['with more content than payload', { size: 3, format: 2, segmentsPerPart: 1 }, 'tampered'],
  ['without its size', { format: 2, segmentsPerPart: 1 }, 'tampered'],
])('a payload %s is told as such, before anything is spent', async (_, description, code) => {
  const keys = await keysOf();
  const content = { files: [{ name: 'a', type: '', size: 3 }], ...description };
  const { ciphertext, nonce } = await sealMessage(keys.metadata, 'mayfly v1 metadata', JSON.stringify(content));
  const info = {
    ...UPLOAD_INFO,
    salt: Buffer.from(vectors.keys.salt, 'hex').toString('base64url'),
    size: partedSize(2, 1),
    hasPassword: false,
    encryptedMeta: Buffer.from(ciphertext).toString('base64'),
    nonce: Buffer.from(nonce).toString('base64'),
  };
  const asked: string[] = [];
  const transport: Transport = {
    async send({ url }) {
      asked.push(new URL(url).pathname.slice(0, 9));
      return { status: 200, header: () => undefined, body: new Blob([JSON.stringify(info)]).stream() };
    },
  };
  const client = new MayflyClient({ baseUrl: 'https://mayfly.example', transport });
  await expect(client.download(vectors.link.uploadText)).rejects.toMatchObject({ code });
  expect(asked).toEqual(['/api/info']);
});
