import { createHash } from 'node:crypto';
import { invalidRequest } from '@mayfly/shared/errors';
import type { Repeat } from '@mayfly/store/notes';
import Type from 'typebox';

// draft-ietf-httpapi-idempotency-key-header: a string of RFC 9651 (section 3.3.3), in quotes. Clients that leave the quotes
// out are understood, too, as long as their key needs none.

const HEADER = 'Idempotency-Key';
const LENGTH = { min: 16, max: 128 };
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const BARE = /^[\w.:~+/=-]+$/;

/** For the API reference. */
export const IdempotencyKey = Type.Optional(
  Type.String({
    description: `a string in quotes, ${LENGTH.min} to ${LENGTH.max} characters, made anew for each view, such as a UUID. The same key and auth token get the same answer again within viewRepeatSec, without a second count`,
  }),
);

/** By what the view can be repeated; undefined without the header, or when nothing can. 400 when the header holds no key. */
export function readRepeat(headers: Record<string, unknown>, forSec: number): Repeat | undefined {
  const given = headers[HEADER.toLowerCase()];
  if (forSec === 0 || given === undefined) return undefined;
  const key = typeof given === 'string' ? parseKey(given.trim()) : undefined;
  if (key === undefined || key.length < LENGTH.min || key.length > LENGTH.max) {
    throw invalidRequest({ [HEADER]: [`must be a string in quotes, of ${LENGTH.min} to ${LENGTH.max} characters`] });
  }
  return { keyHash: createHash('sha256').update(key).digest(), forSec };
}

function parseKey(text: string): string | undefined {
  if (BARE.test(text)) return text;
  return QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
}
