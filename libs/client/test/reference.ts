import {
  argon2Sync,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  pbkdf2Sync,
} from 'node:crypto';

// docs/crypto.md once more, on node:crypto alone and without a line of the library: what the vectors are made with.

const SEGMENT_BYTES = 65_536;

function hkdf(input: Buffer, salt: Buffer, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', input, salt, label, 32));
}

export function keys(secret: Buffer, salt: Buffer) {
  const authKey = hkdf(secret, salt, 'mayfly v1 auth key');
  return {
    fileKey: hkdf(secret, salt, 'mayfly v1 file key'),
    metadataKey: hkdf(secret, salt, 'mayfly v1 metadata key'),
    noteKey: hkdf(secret, salt, 'mayfly v1 note key'),
    authKey,
    authToken: createHmac('sha256', authKey).update('mayfly v1 auth token').digest('base64url'),
  };
}

export function sealedMetadataKey(secret: Buffer, share: Buffer): Buffer {
  return hkdf(secret, share, 'mayfly v2 sealed metadata key');
}

export function ownerToken(ownerSecret: Buffer): string {
  return hkdf(ownerSecret, Buffer.alloc(0), 'mayfly v1 owner token').toString('base64url');
}

export function argon2idKey(password: string, salt: Buffer): Buffer {
  const message = Buffer.from(password.normalize('NFC'));
  return argon2Sync('argon2id', { message, nonce: salt, parallelism: 1, tagLength: 32, memory: 65_536, passes: 3 });
}

export function pbkdf2Key(password: string, salt: Buffer): Buffer {
  return pbkdf2Sync(password.normalize('NFC'), salt, 600_000, 32, 'sha256');
}

export function xor(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(one.map((byte, index) => byte ^ (other[index] ?? 0)));
}

/** What follows the # of a new link. */
export function fragment(letter: string, id: string, secret: Buffer, protection: number): string {
  const said = Buffer.concat([secret, Buffer.of(protection)]);
  const check = createHash('sha256').update(`mayfly v2 link${letter}${id}`).update(said).digest().subarray(0, 3);
  return Buffer.concat([said, check]).toString('base64url');
}

export function message(key: Buffer, nonce: Buffer, purpose: string, text: string): Buffer {
  const bytes = Buffer.from(text);
  const padded = Buffer.alloc((Math.floor(bytes.length / 128) + 1) * 128);
  bytes.copy(padded);
  padded[bytes.length] = 0x80;
  return seal(key, nonce, Buffer.from(purpose), padded);
}

export function payload(key: Buffer, prefix: Buffer, plaintext: Buffer): Buffer {
  const header = Buffer.concat([Buffer.of(1), prefix]);
  const parts: Buffer[] = [header];
  for (let counter = 0, at = 0; counter === 0 || at < plaintext.length; counter += 1, at += SEGMENT_BYTES) {
    const end = Buffer.alloc(5);
    end.writeUInt32BE(counter);
    end[4] = at + SEGMENT_BYTES >= plaintext.length ? 1 : 0;
    parts.push(seal(key, Buffer.concat([prefix, end]), header, plaintext.subarray(at, at + SEGMENT_BYTES)));
  }
  return Buffer.concat(parts);
}

const PATTERN = Uint8Array.from({ length: 251 }, (_, index) => index);

/** Byte i is i mod 251: no segment looks like another. */
export function patterned(sizeBytes: number): Buffer {
  return Buffer.alloc(sizeBytes, PATTERN);
}

function seal(key: Buffer, nonce: Buffer, aad: Buffer, plaintext: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(aad);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

export function openMessage(key: Buffer, nonce: Buffer, purpose: string, ciphertext: Buffer): string {
  if (nonce.length !== 12) throw new Error('tampered: the nonce');
  const padded = open(key, nonce, Buffer.from(purpose), ciphertext);
  if (padded.length === 0 || padded.length % 128 !== 0) throw new Error('tampered: the length');
  return textOf(padded, 128);
}

/** What is before 0x80 and at most so many bytes less one of zeros. */
function textOf(padded: Buffer, mostPadding: number): string {
  let end = padded.length - 1;
  while (end >= 0 && padded[end] === 0) end -= 1;
  if (padded[end] !== 0x80 || padded.length - end > mostPadding) throw new Error('tampered: the padding');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(padded.subarray(0, end));
  } catch {
    throw new Error('tampered: the text');
  }
}

export function openPayload(key: Buffer, bytes: Buffer): Buffer {
  const version = bytes[0] ?? 0;
  if (version > 2) throw new Error('newer-format');
  const header = bytes.subarray(0, 8);
  if (version !== 1 || header.length < 8) throw new Error('tampered: the header');
  const plaintexts: Buffer[] = [];
  for (let at = 8, counter = 0; counter === 0 || at < bytes.length; counter += 1, at += SEGMENT_BYTES + 16) {
    const segment = bytes.subarray(at, at + SEGMENT_BYTES + 16);
    if (counter > 0 && segment.length <= 16) throw new Error('tampered: an empty segment');
    const end = Buffer.alloc(5);
    end.writeUInt32BE(counter);
    end[4] = at + SEGMENT_BYTES + 16 >= bytes.length ? 1 : 0;
    plaintexts.push(open(key, Buffer.concat([header.subarray(1), end]), header, segment));
  }
  return Buffer.concat(plaintexts);
}

export function noteKeys(secret: Buffer, salt: Buffer) {
  return {
    key: hkdf(secret, salt, 'mayfly v2 note key'),
    commitment: hkdf(secret, salt, 'mayfly v2 note key commitment'),
  };
}

type NoteKeys = ReturnType<typeof noteKeys>;
type Note = { contentType: string; text: string; nonce: Buffer; noteMaxSize?: number };

export function sealNote({ key, commitment }: NoteKeys, { contentType, text, nonce, noteMaxSize }: Note): Buffer {
  const bytes = Buffer.from(`${contentType}\0${text}\x80`, 'utf8').subarray(0, -1); // 0x80 is two bytes of UTF-8
  bytes[bytes.length - 1] = 0x80;
  const unit = noteMaxSize === undefined ? 128 : 1024;
  const most = noteMaxSize === undefined ? Number.POSITIVE_INFINITY : noteMaxSize + 256 - 32 - 16;
  const length = Math.max(bytes.length, Math.min(Math.ceil(bytes.length / unit) * unit, most));
  return sealPaddedNote({ key, commitment }, nonce, Buffer.concat([bytes], length));
}

function sealPaddedNote({ key, commitment }: NoteKeys, nonce: Buffer, padded: Buffer): Buffer {
  return Buffer.concat([commitment, seal(key, nonce, Buffer.from('mayfly v2 note'), padded)]);
}

/** Without `commits` as a receiver would that does not look at the commitment. */
export function openNote({ key, commitment }: NoteKeys, nonce: Buffer, ciphertext: Buffer, { commits = true } = {}) {
  if (nonce.length !== 12) throw new Error('tampered: the nonce');
  if (commits && !ciphertext.subarray(0, 32).equals(commitment)) throw new Error('tampered: another key');
  const padded = open(key, nonce, Buffer.from('mayfly v2 note'), ciphertext.subarray(32));
  const [, type = '', text = ''] = /^([a-z0-9-]{1,32})\0(.*)$/s.exec(textOf(padded, 1024)) ?? [];
  if (!type) throw new Error('tampered: the type');
  return { contentType: ['password', 'code', 'markdown', 'sshkey'].includes(type) ? type : 'text', text };
}

/** What it decrypts to, whatever that is. */
export function decryptNote(key: Buffer, nonce: Buffer, ciphertext: Buffer): Buffer {
  return open(key, nonce, Buffer.from('mayfly v2 note'), ciphertext.subarray(32));
}

const FILE_FIELDS = { format: 'mayfly passphrase file', version: 1 };

export function fileKey(passphrase: string, salt: Buffer): Buffer {
  return hkdf(argon2idKey(passphrase, salt), salt, 'mayfly v1 passphrase file key');
}

export function openFile(json: string, content: string, passphrase: string): string {
  const { salt, nonce, ciphertext, ...said } = JSON.parse(json);
  for (const [name, value] of Object.entries({ ...FILE_FIELDS, content })) {
    if (said[name] !== value) throw new Error(`bad-source: ${name}`);
  }
  const key = fileKey(passphrase, Buffer.from(salt, 'base64url'));
  try {
    return openMessage(key, Buffer.from(nonce, 'base64'), content, Buffer.from(ciphertext, 'base64'));
  } catch {
    throw new Error('wrong-password');
  }
}

export function sealFile(text: string, content: string, passphrase: string, salt: Buffer, nonce: Buffer): string {
  const ciphertext = message(fileKey(passphrase, salt), nonce, content, text).toString('base64');
  const fields = { salt: salt.toString('base64url'), nonce: nonce.toString('base64'), ciphertext };
  return JSON.stringify({ ...FILE_FIELDS, content, ...fields });
}

/** Whether metadata is as its table says, of the formats that there are. */
export function isMetadata(text: string): boolean {
  const { files, archive, format, segmentsPerPart, size } = JSON.parse(text) ?? {};
  const isWhole = (value: unknown, least: number, most = 2 ** 53 - 1) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  const isFile = (file: { name: unknown; type: unknown; size: unknown } | null) =>
    typeof file?.name === 'string' && file.name && typeof file.type === 'string' && isWhole(file.size, 0);
  if (!Array.isArray(files) || files.length === 0 || !files.every(isFile)) return false;
  if (files.length > 1 ? archive !== 'zip' : archive !== undefined) return false;
  if (files.length > 1 && files.some(({ name }) => Buffer.byteLength(name) > 65_535)) return false;
  if (format !== undefined && !isWhole(format, 1)) return false;
  if (size !== undefined && !isWhole(size, 0)) return false;
  return format !== 2 || (size !== undefined && isWhole(segmentsPerPart, 1, 2 ** 24 - 1));
}

function open(key: Buffer, nonce: Buffer, aad: Buffer, sealed: Buffer): Buffer {
  if (sealed.length < 16) throw new Error('tampered: too short');
  const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(aad).setAuthTag(sealed.subarray(-16));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  } catch {
    throw new Error('tampered: the tag');
  }
}
