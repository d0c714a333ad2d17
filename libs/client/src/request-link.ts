import { type Bytes, fromBase64url, toBase64url } from './bytes.ts';
import { MayflyError } from './errors.ts';
import type { Reader } from './fields.ts';
import { SECRET_BYTES } from './keys.ts';
import { type Address, LINK_ID, splitAddress } from './link.ts';

// docs/crypto.md, "File requests".

/** `drop`: the link to give away, which names the key that drops are sealed to. `keep`: the link to keep, which opens them. */
export type RequestLink = Address & ({ role: 'drop'; keyHash: Bytes } | { role: 'keep'; seed: Bytes });

const PATH = /^(.*)\/(r)\/([^/]*)\/?$/i;
const KEEP = 'k';

/** `{base}/r/<id>#<hash>` to give away, `{base}/r/<id>#k<seed>` to keep. */
export function formatRequestLink(link: RequestLink): string {
  const fragment = link.role === 'keep' ? `${KEEP}${toBase64url(link.seed)}` : toBase64url(link.keyHash);
  return `${link.baseUrl}/r/${link.id}#${fragment}`;
}

/** Throws `invalid-link` for what is no link of a file request, `damaged-link` for one that is incomplete or was changed. */
export function parseRequestLink(text: string): RequestLink {
  const { baseUrl, id, hash } = splitAddress(text, PATH);
  const fragment = decode(hash);
  const keyHash = fromBase64url(fragment, SECRET_BYTES);
  const seed = fragment.startsWith(KEEP) ? fromBase64url(fragment.slice(1), SECRET_BYTES) : undefined;
  if (LINK_ID.test(id) && keyHash) return { baseUrl, id, role: 'drop', keyHash };
  if (LINK_ID.test(id) && seed) return { baseUrl, id, role: 'keep', seed };
  throw new MayflyError('damaged-link');
}

/** The address of a request in an answer, without what follows it. Throws `bad-answer`. */
export const requestAddress: Reader<Address> = (value) => {
  try {
    const { baseUrl, id } = splitAddress(String(value), PATH);
    if (LINK_ID.test(id)) return { baseUrl, id };
  } catch {
    // told below
  }
  throw new MayflyError('bad-answer');
};

function decode(hash: string): string {
  try {
    return decodeURIComponent(hash);
  } catch {
    return ''; // a % that encodes nothing
  }
}
