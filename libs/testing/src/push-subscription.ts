import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

/** A browser's subscription to Web Push, as a service sees it, and what only the browser can do with a message (RFC 8188, RFC 8291). */
export function pushSubscription() {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys();
  const auth = randomBytes(16);
  return {
    keys: { p256dh: publicKey.toString('base64url'), auth: auth.toString('base64url') },
    decrypt: (message: Buffer) => decrypt(message, { pair, publicKey, auth }),
  };
}

type Keys = { pair: ReturnType<typeof createECDH>; publicKey: Buffer; auth: Buffer };

function decrypt(message: Buffer, { pair, publicKey, auth }: Keys): unknown {
  const [salt, keyLength] = [message.subarray(0, 16), message.readUInt8(20)];
  const sender = message.subarray(21, 21 + keyLength);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, sender]);
  const secret = Buffer.from(hkdfSync('sha256', pair.computeSecret(sender), auth, info, 32));
  const derive = (use: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, Buffer.from(`Content-Encoding: ${use}\0`), length));
  const body = message.subarray(21 + keyLength);
  const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
  decipher.setAuthTag(body.subarray(-16));
  const padded = Buffer.concat([decipher.update(body.subarray(0, -16)), decipher.final()]);
  return JSON.parse(padded.subarray(0, padded.lastIndexOf(2)).toString());
}
