import { argon2Sync, createCipheriv, createHmac, hkdfSync, pbkdf2Sync } from 'node:crypto';

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

/** Byte i is i mod 251: no segment looks like another. */
export function patterned(sizeBytes: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: sizeBytes }, (_, index) => index % 251));
}

function seal(key: Buffer, nonce: Buffer, aad: Buffer, plaintext: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(aad);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}
