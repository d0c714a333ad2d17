import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

// docs/crypto.md, "Payload in parts" and "Padding", once more, on node:crypto alone and without a line of the library.

const SEGMENT_BYTES = 65_536;
const TAG_BYTES = 16;
const HEADER_BYTES = 56;

export function payloadKey(secret: Buffer, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, 'mayfly v2 payload key', 32));
}

export function keyCommitment(payloadKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', payloadKey, '', 'mayfly v2 key commitment', 32));
}

/** In the bit operations of the paper. */
export function padme(size: number): number {
  if (size < 2) return size;
  const exponent = BigInt(size).toString(2).length - 1;
  const mask = (1n << BigInt(exponent - Math.floor(Math.log2(exponent) + 1))) - 1n;
  return Number((BigInt(size) + mask) & ~mask);
}

export function padded(content: Buffer, paddedSize: number): Buffer {
  return Buffer.concat([content], paddedSize);
}

export function partKey(payloadKey: Buffer, header: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', payloadKey, header, 'mayfly v2 part key', 32));
}

export function partHeader(segmentsPerPart: number, number: number, partSalt: Buffer, commitment: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(2, 0);
  header.writeUIntBE(segmentsPerPart, 1, 3);
  header.writeUInt32BE(number, 4);
  partSalt.copy(header, 8);
  commitment.copy(header, 24);
  return header;
}

export function sealPayload(
  payloadKey: Buffer,
  segmentsPerPart: number,
  partSalts: Buffer[],
  plaintext: Buffer,
): Buffer {
  const partBytes = segmentsPerPart * SEGMENT_BYTES;
  const parts = partSalts.map((partSalt, index) => {
    const isLastPart = index === partSalts.length - 1;
    const content = plaintext.subarray(index * partBytes, (index + 1) * partBytes);
    const header = partHeader(segmentsPerPart, index + 1, partSalt, keyCommitment(payloadKey));
    return sealPart(payloadKey, header, content, isLastPart);
  });
  return Buffer.concat(parts);
}

function sealPart(payloadKey: Buffer, header: Buffer, content: Buffer, isLastPart: boolean): Buffer {
  const key = partKey(payloadKey, header);
  const pieces = [header];
  for (let number = 0, at = 0; number === 0 || at < content.length; number += 1, at += SEGMENT_BYTES) {
    const isLast = isLastPart && at + SEGMENT_BYTES >= content.length;
    const cipher = createCipheriv('aes-256-gcm', key, nonce(number, isLast));
    pieces.push(cipher.update(content.subarray(at, at + SEGMENT_BYTES)), cipher.final(), cipher.getAuthTag());
  }
  return Buffer.concat(pieces);
}

/** With `contentBytes` what follows them has to be padding. Throws an Error that begins with `tampered` or `newer-format`. */
export function openParts(
  payloadKey: Buffer,
  ciphertext: Buffer,
  {
    firstPart = 1,
    contentBytes,
    commits = true,
  }: { firstPart?: number; contentBytes?: number; commits?: boolean } = {},
): Buffer {
  const plaintext = openPadded(payloadKey, ciphertext, firstPart, commits);
  if (contentBytes === undefined) return plaintext;
  if (contentBytes > plaintext.length) throw new Error('tampered: too short');
  const rest = plaintext.subarray(contentBytes);
  if (!rest.equals(Buffer.alloc(rest.length))) throw new Error('tampered: no padding');
  return plaintext.subarray(0, contentBytes);
}

/** Unless `commits` what a header says of its key is ignored. */
function openPadded(payloadKey: Buffer, ciphertext: Buffer, firstPart: number, commits: boolean): Buffer {
  const output: Buffer[] = [];
  let segmentsPerPart = 0;
  for (let number = firstPart, at = 0; ; number += 1) {
    const header = ciphertext.subarray(at, at + HEADER_BYTES);
    at += HEADER_BYTES;
    if (number === firstPart && header.length > 0 && header.readUInt8() > 2) throw new Error('newer-format');
    if (header.length < HEADER_BYTES || header[0] !== 2) throw new Error('tampered: no header');
    if (number === firstPart) segmentsPerPart = header.readUIntBE(1, 3);
    const isExpected = header.readUInt32BE(4) === number && header.readUIntBE(1, 3) === segmentsPerPart;
    if (!isExpected || segmentsPerPart === 0) throw new Error('tampered: another part');
    if (commits && !header.subarray(24).equals(keyCommitment(payloadKey))) throw new Error('tampered: another key');
    const key = partKey(payloadKey, header);
    for (let segment = 0; segment < segmentsPerPart; segment += 1) {
      const sealed = ciphertext.subarray(at, at + SEGMENT_BYTES + TAG_BYTES);
      at += sealed.length;
      const isLast = at === ciphertext.length;
      if (sealed.length < TAG_BYTES) throw new Error('tampered: cut');
      if (sealed.length === TAG_BYTES && (number > 1 || segment > 0)) throw new Error('tampered: an empty segment');
      output.push(openSegment(key, nonce(segment, isLast), sealed));
      if (isLast) return Buffer.concat(output);
    }
  }
}

function openSegment(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    throw new Error('tampered: a segment', { cause });
  }
}

function nonce(segment: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(segment, 7);
  nonce.writeUInt8(isLast ? 1 : 0, 11);
  return nonce;
}
