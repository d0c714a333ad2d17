import { ID_PATTERN, type PasswordAlgo } from '@mayfly/vocabulary';
import { type Bytes, concat, equal, fromBase64url, toBase64url, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { SECRET_BYTES } from './keys.ts';

// docs/crypto.md, "Link".

export type Kind = 'upload' | 'note';

/** What a sender says in the link of how it is protected. */
export type LinkProtection = {
  /** Undefined without a password. */
  passwordAlgo: PasswordAlgo | undefined;
  /** Its metadata opens only with a share, which the service keeps. Of an upload with a password. */
  isSealed: boolean;
};

/** What a link says. With a password the secret is the protected one until checkPassword has unlocked the link. */
export type Link = {
  kind: Kind;
  /** Address of the service, without a slash at the end. */
  baseUrl: string;
  id: string;
  secret: Bytes;
  /** Undefined in an old link, of 43 characters: there the service alone says it. */
  protection: LinkProtection | undefined;
  isUnlocked: boolean;
  /** Of sealed metadata, once the link is unlocked. */
  share?: Bytes | undefined;
};

/** Where it is, without what opens it. */
export type Address = Pick<Link, 'baseUrl' | 'id'>;

const LETTERS: Record<Kind, string> = { upload: 'd', note: 'n' };
const PATH = /^(.*)\/([dn])\/([^/]*)\/?$/i;
export const LINK_ID = new RegExp(`^${ID_PATTERN}$`, 'i');

const CHECK_BYTES = 3;
const FRAGMENT_BYTES = SECRET_BYTES + 1 + CHECK_BYTES;
/** In every protection byte: without it a link that was cut to the length of an old one would be read as one. */
const NOT_OLD = 0x80;

/** `{base}/d/<id>#<fragment>` for an upload, `{base}/n/<id>#<fragment>` for a note; without `protection` an old one. */
export async function formatLink(link: Omit<Link, 'isUnlocked' | 'share'>): Promise<string> {
  const { kind, baseUrl, id, secret, protection } = link;
  const fragment = protection ? await newFragment(link, protectionByte(protection)) : secret;
  return `${baseUrl}/${LETTERS[kind]}/${id}#${toBase64url(fragment)}`;
}

/**
 * Throws `invalid-link` for what is no link, `damaged-link` for one that is incomplete or was changed, `newer-format` for one that a newer
 * Mayfly has made. The message never repeats the link: it holds the secret.
 */
export async function parseLink(text: string): Promise<Link> {
  const { kind, baseUrl, id, fragment } = split(text);
  if (!LINK_ID.test(id) || !fragment) throw new MayflyError('damaged-link');
  const secret = fragment.slice(0, SECRET_BYTES);
  const link = { kind, baseUrl, id, secret, isUnlocked: false };
  const byte = fragment[SECRET_BYTES];
  if (byte === undefined) return { ...link, protection: undefined };
  if (!equal(fragment, await newFragment(link, byte))) throw new MayflyError('damaged-link');
  return { ...link, protection: readProtection(byte, kind) };
}

/** Where a link leads, whatever has become of its fragment. Throws `invalid-link`, and `damaged-link` without a whole id. */
export function parseAddress(text: string): Pick<Link, 'kind' | 'baseUrl' | 'id'> {
  const { kind, baseUrl, id } = split(text);
  if (!LINK_ID.test(id)) throw new MayflyError('damaged-link');
  return { kind, baseUrl, id };
}

/** The address of a service as links begin with it. */
export function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !isWeb(url)) {
    throw new MayflyError('invalid-link', { message: 'The address of a service begins with https:// or http://' });
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** The id may be malformed, and the fragment missing. */
function split(text: string) {
  const { letter, baseUrl, id, hash } = splitAddress(text, PATH);
  return { kind: letter === LETTERS.note ? 'note' : 'upload', baseUrl, id, fragment: readFragment(hash) } as const;
}

/** What a link is made of, the letter of its kind in its path as `pattern` has it. The id may be malformed. Throws `invalid-link`. */
export function splitAddress(text: string, pattern: RegExp) {
  const url = URL.parse(text.trim().replace(/^<(.*)>$/s, '$1'));
  const [, path, letter, id = ''] = pattern.exec(url?.pathname ?? '') ?? [];
  // Whoever reads `https://known.example@other.example/...` takes it for another service.
  if (!url || !isWeb(url) || letter === undefined || url.username || url.password) {
    throw new MayflyError('invalid-link');
  }
  return { letter: letter.toLowerCase(), baseUrl: url.origin + path, id: id.toLowerCase(), hash: url.hash.slice(1) };
}

function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:';
}

/** Undefined when it has neither of the two lengths. */
function readFragment(encoded: string): Bytes | undefined {
  try {
    const text = decodeURIComponent(encoded);
    return fromBase64url(text, FRAGMENT_BYTES) ?? fromBase64url(text, SECRET_BYTES);
  } catch {
    return undefined; // a % that encodes nothing
  }
}

async function newFragment({ kind, id, secret }: Pick<Link, 'kind' | 'id' | 'secret'>, byte: number): Promise<Bytes> {
  // Browsers hide WebCrypto from pages that came over plain HTTP.
  if (!crypto.subtle) throw new MayflyError('insecure-context');
  const said = concat(secret, Uint8Array.of(byte));
  const input = concat(utf8(`mayfly v2 link${LETTERS[kind]}${id.toLowerCase()}`), said);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', input));
  return concat(said, digest.subarray(0, CHECK_BYTES));
}

/** By their numbers in the protection byte. */
const ALGOS: (PasswordAlgo | undefined)[] = [undefined, 'argon2id', 'pbkdf2'];

const SEALED = 4;

/** What a link's protection byte says, as a number from 128 to 255. */
export function protectionByte({ passwordAlgo, isSealed }: LinkProtection): number {
  return NOT_OLD + (isSealed ? SEALED : 0) + ALGOS.indexOf(passwordAlgo);
}

/** Throws `newer-format`. */
export function readProtection(byte: number, kind: Kind): LinkProtection {
  const number = byte - NOT_OLD;
  const isSealed = number >= SEALED;
  const passwordAlgo = ALGOS[isSealed ? number - SEALED : number];
  const isKnown = number === 0 || (passwordAlgo !== undefined && !(isSealed && kind === 'note'));
  if (!isKnown) throw new MayflyError('newer-format');
  return { passwordAlgo, isSealed };
}
