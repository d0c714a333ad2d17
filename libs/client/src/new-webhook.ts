import { randomBytes, toBase64, toBase64url } from './bytes.ts';
import type { Hooks } from './owned.ts';

/** A hook for an address, with a new secret (Standard Webhooks) and a new key. */
export function newWebhook(url: string): Required<Hooks>['webhook'] {
  return { url, secret: `whsec_${toBase64(randomBytes(32))}`, key: toBase64url(randomBytes(9)) };
}
