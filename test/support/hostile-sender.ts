import { createCipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { type Api, uploadHeaders } from './api.ts';

// docs/crypto.md with nothing of the library in it: a sender that has the right key, and sends what no library would.

const SEGMENT_BYTES = 65_536;
const TAG_BYTES = 16;

/** Sends any content with any description, in format 1. Returns the link. */
export async function sendAnything(api: Api, content: Buffer, metadata: unknown): Promise<string> {
  const [secret, salt] = [randomBytes(32), randomBytes(16)];
  const key = (label: string) => Buffer.from(hkdfSync('sha256', secret, salt, label, 32));
  const authToken = createHmac('sha256', key('mayfly v1 auth key')).update('mayfly v1 auth token').digest('base64url');
  const tokens = { authToken, ownerToken: randomBytes(32).toString('base64url') };
  const headers = { 'X-Salt': salt.toString('base64url'), 'X-Max-Downloads': '3' };
  const created = await api.upload(payload(key('mayfly v1 file key'), content), uploadHeaders(tokens, headers));
  const { id, url } = created.body as { id: string; url: string };
  const nonce = randomBytes(12);
  const sealed = seal(key('mayfly v1 metadata key'), nonce, Buffer.from('mayfly v1 metadata'), padded(metadata));
  const described = { encryptedMeta: sealed.toString('base64'), nonce: nonce.toString('base64') };
  const { status, text } = await api.setMeta(id, tokens.ownerToken, described);
  if (status !== 200) throw new Error(`metadata answered ${status} ${text}`);
  return `${url}#${secret.toString('base64url')}`;
}

function payload(key: Buffer, content: Buffer): Buffer {
  const prefix = randomBytes(7);
  const header = Buffer.concat([Buffer.of(1), prefix]);
  const segments: Buffer[] = [];
  for (let at = 0; at === 0 || at < content.length; at += SEGMENT_BYTES) {
    const end = Buffer.alloc(5);
    end.writeUInt32BE(segments.length);
    end[4] = at + SEGMENT_BYTES >= content.length ? 1 : 0;
    segments.push(seal(key, Buffer.concat([prefix, end]), header, content.subarray(at, at + SEGMENT_BYTES)));
  }
  return Buffer.concat([header, ...segments]);
}

function padded(metadata: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(metadata));
  const whole = Buffer.alloc((Math.floor(text.length / 128) + 1) * 128);
  text.copy(whole);
  whole[text.length] = 0x80;
  return whole;
}

function seal(key: Buffer, nonce: Buffer, data: Buffer, text: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(data);
  return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}
