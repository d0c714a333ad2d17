import { createHash, randomBytes, webcrypto } from 'node:crypto';

// The contract's client flow with WebCrypto: a secret, keys by HKDF, tokens, and a payload encrypted as it streams.

const { subtle } = webcrypto;
const SEGMENT = 64 * 1024;
const TAG = 16;

type Keys = { fileKey: webcrypto.CryptoKey; metaKey: webcrypto.CryptoKey; authToken: string };

export async function deriveKeys(secret: Uint8Array<ArrayBuffer>, salt: Uint8Array<ArrayBuffer>): Promise<Keys> {
  const base = await subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey', 'deriveBits']);
  const hkdf = (info: string) => ({ name: 'HKDF', hash: 'SHA-256', salt, info: new TextEncoder().encode(info) });
  const aes = (info: string) =>
    subtle.deriveKey(hkdf(info), base, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
  const authKey = await subtle.deriveKey(hkdf('auth'), base, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const authToken = Buffer.from(await subtle.sign('HMAC', authKey, salt)).toString('base64url');
  return { fileKey: await aes('file'), metaKey: await aes('meta'), authToken };
}

const nonceOf = (index: number) => {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(index, 8);
  return new Uint8Array(nonce);
};

export const sealedSize = (size: number) => size + Math.ceil(size / SEGMENT) * TAG;

/** Random bytes that are made, hashed and encrypted segment by segment, so that neither side holds them all. */
export async function* sealRandomBytes(size: number, key: webcrypto.CryptoKey, onPlain: (plain: Buffer) => void) {
  for (let index = 0; index * SEGMENT < size; index++) {
    const plain = randomBytes(Math.min(SEGMENT, size - index * SEGMENT));
    onPlain(plain);
    yield Buffer.from(await subtle.encrypt({ name: 'AES-GCM', iv: nonceOf(index) }, key, new Uint8Array(plain)));
  }
}

/** Decrypts a payload as it comes and gives the SHA-256 of the plaintext; rejects when a segment was changed. */
export async function openedDigest(body: AsyncIterable<Buffer>, key: webcrypto.CryptoKey): Promise<string> {
  const digest = createHash('sha256');
  let held = Buffer.alloc(0);
  let index = 0;
  const open = async (segment: Buffer) => {
    const iv = nonceOf(index++);
    digest.update(Buffer.from(await subtle.decrypt({ name: 'AES-GCM', iv }, key, new Uint8Array(segment))));
  };
  for await (const chunk of body) {
    held = Buffer.concat([held, chunk]);
    while (held.length >= SEGMENT + TAG) {
      await open(held.subarray(0, SEGMENT + TAG));
      held = held.subarray(SEGMENT + TAG);
    }
  }
  if (held.length > 0) await open(held);
  return digest.digest('hex');
}

export async function sealJson(key: webcrypto.CryptoKey, value: unknown) {
  const iv = new Uint8Array(randomBytes(12));
  const plain = new TextEncoder().encode(JSON.stringify(value));
  const sealed = Buffer.from(await subtle.encrypt({ name: 'AES-GCM', iv }, key, plain));
  return { sealed: sealed.toString('base64'), nonce: Buffer.from(iv).toString('base64') };
}

export async function openJson(key: webcrypto.CryptoKey, sealed: string, nonce: string): Promise<unknown> {
  const iv = new Uint8Array(Buffer.from(nonce, 'base64'));
  const plain = await subtle.decrypt({ name: 'AES-GCM', iv }, key, new Uint8Array(Buffer.from(sealed, 'base64')));
  return JSON.parse(Buffer.from(plain).toString());
}
