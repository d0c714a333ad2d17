import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { dateOf, daySecondsLeft } from '../limits/keys/daily-names.ts';
import type { RequestLimits } from '../limits/limits.ts';

/** The clocks of two gateways may differ by so much. */
const CLOCKS_MS = 60_000;
const [IV_BYTES, SUBJECT_BYTES, TAG_BYTES] = [12, 32, 16];
/** When it ends (milliseconds), and who was signed in, sealed. */
const TOKEN = /^mfo_(\d{1,15})\.([\w-]{80})$/;

export type CreateTokens = {
  make(subject: string): Promise<{ token: string; endsAt: Date }>;
  /** A name of its subject that is the same each time; undefined when it is no token, or has ended. */
  nameIn(token: string): Promise<string | undefined>;
};

/**
 * What somebody who has signed in creates with: sealed under a key that all replicas share, so nobody else can make one, and none of
 * them has to remember any. Without Redis each process knows only its own. Decision sign-in-without-cookies.
 */
export function createTokens(
  sharedKey: RequestLimits['sharedKey'],
  lifeSec: number,
  now: () => number = Date.now,
): CreateTokens {
  const keyOf = (endsAt: number) => sharedKey(`mayfly:sign-in-key:${dateOf(endsAt)}`, lifeSec + daySecondsLeft(endsAt));

  return {
    async make(subject) {
      const endsAt = now() + lifeSec * 1000;
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', await keyOf(endsAt), iv).setAAD(Buffer.from(String(endsAt)));
      const name = createHash('sha256').update(subject).digest(); // subjects are of any length
      const sealed = Buffer.concat([iv, cipher.update(name), cipher.final(), cipher.getAuthTag()]);
      return { token: `mfo_${endsAt}.${sealed.toString('base64url')}`, endsAt: new Date(endsAt) };
    },

    async nameIn(token) {
      const [, end = '', text = ''] = TOKEN.exec(token) ?? [];
      const leftMs = Number(end) - now();
      if (leftMs <= 0 || leftMs > lifeSec * 1000 + CLOCKS_MS) return undefined;
      const sealed = Buffer.from(text, 'base64url');
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv('aes-256-gcm', await keyOf(Number(end)), sealed.subarray(0, IV_BYTES), options)
        .setAAD(Buffer.from(end))
        .setAuthTag(sealed.subarray(IV_BYTES + SUBJECT_BYTES));
      const name = decipher.update(sealed.subarray(IV_BYTES, IV_BYTES + SUBJECT_BYTES));
      try {
        decipher.final();
      } catch {
        return undefined; // it was sealed by nobody who has this key
      }
      return name.toString('base64url');
    },
  };
}
