import { createCipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** A note of format 1, as clients made it whose links have 43 characters. Returns its link. */
export async function makeOldNote(
  baseUrl: string,
  text: string,
  { contentType = 'text', maxViews = 2, expireSec = 3600 } = {},
): Promise<string> {
  const [secret, salt, nonce] = [randomBytes(32), randomBytes(16), randomBytes(12)];
  const key = (label: string) => Buffer.from(hkdfSync('sha256', secret, salt, label, 32));
  const bytes = Buffer.from(text);
  const padded = Buffer.concat([bytes, Buffer.of(0x80)], Math.ceil((bytes.length + 1) / 128) * 128);
  const cipher = createCipheriv('aes-256-gcm', key('mayfly v1 note key'), nonce);
  cipher.setAAD(Buffer.from(`mayfly v1 note ${contentType}`));
  const sealed = Buffer.concat([cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
  const answer = await fetch(`${baseUrl}/api/note`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      encryptedContent: sealed.toString('base64'),
      nonce: nonce.toString('base64'),
      salt: salt.toString('base64url'),
      ownerToken: randomBytes(32).toString('base64url'),
      authToken: createHmac('sha256', key('mayfly v1 auth key')).update('mayfly v1 auth token').digest('base64url'),
      contentType,
      maxViews,
      expireSec,
      hasPassword: false,
    }),
  });
  const { id } = (await answer.json()) as { id: string }; // contract 4.1
  return `${baseUrl}/n/${id}#${secret.toString('base64url')}`;
}
