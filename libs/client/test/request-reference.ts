import { createHash, hkdfSync } from 'node:crypto';
import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { XWing } from '@hpke/hybridkem-x-wing';

// docs/crypto.md, "File requests", once more: on node:crypto and another HPKE library, without a line of ours.

const suite = new CipherSuite({ kem: new XWing(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
const buffer = (bytes: ArrayBuffer) => Buffer.from(bytes);

/** What this library calls deriveKeyPair is that of an older draft. */
export function privateKey(seed: Buffer): Buffer {
  const label = Buffer.from('DeriveKeyPair');
  return createHash('shake256', { outputLength: 32 })
    .update(seed)
    .update('HPKE-v1')
    .update('KEM')
    .update(Buffer.of(0x64, 0x7a, 0, label.length))
    .update(label)
    .update(Buffer.of(0, 32))
    .digest();
}

const keyPair = (privateKey: Buffer) => new XWing().generateKeyPairDerand(new Uint8Array(privateKey));

export async function publicKey(privateKey: Buffer): Promise<Buffer> {
  return buffer(await suite.kem.serializePublicKey((await keyPair(privateKey)).publicKey));
}

export function keyHash(publicKey: Buffer): Buffer {
  return createHash('sha256').update('mayfly v1 request key').update(publicKey).digest();
}

export function ownerToken(seed: Buffer): string {
  return Buffer.from(hkdfSync('sha256', seed, '', 'mayfly v1 request owner token', 32)).toString('base64url');
}

export function greetingKey(keyHash: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', keyHash, '', 'mayfly v1 request greeting key', 32));
}

type Place = { requestId: string; uploadId: string };
const infoOf = ({ requestId }: Place) => new TextEncoder().encode(`mayfly v1 file request${requestId}`);
const aadOf = ({ uploadId }: Place) => new TextEncoder().encode(uploadId);

/** `ekm`: the 64 random bytes of an encapsulation. */
export async function seal(publicKey: Buffer, place: Place, plaintext: Buffer, ekm: Buffer) {
  const recipientPublicKey = await suite.kem.deserializePublicKey(new Uint8Array(publicKey));
  const sender = await suite.createSenderContext({ recipientPublicKey, info: infoOf(place), ekm: new Uint8Array(ekm) });
  const sealed = buffer(await sender.seal(new Uint8Array(plaintext), aadOf(place)));
  return { enc: Buffer.concat([Buffer.of(1), buffer(sender.enc)]), sealed };
}

export async function open(privateKey: Buffer, place: Place, enc: Buffer, sealed: Buffer) {
  if (enc.length > 0 && enc[0] !== 1) throw new Error('newer-format');
  const params = { recipientKey: (await keyPair(privateKey)).privateKey, info: infoOf(place) };
  const plaintext = await suite
    .open({ ...params, enc: new Uint8Array(enc.subarray(1)) }, new Uint8Array(sealed), aadOf(place))
    .catch((cause) => {
      throw new Error('tampered', { cause });
    });
  if (plaintext.byteLength !== 33) throw new Error('tampered');
  const protectionByte = new Uint8Array(plaintext)[32] ?? 0;
  if (![0x80, 0x81, 0x82, 0x85, 0x86].includes(protectionByte)) throw new Error('newer-format');
  return { secret: buffer(plaintext).subarray(0, 32), protectionByte };
}
