import { ID_PATTERN } from '@mayfly/vocabulary';
import { type Bytes, fromBase64url, toBase64url } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { SECRET_BYTES } from './keys.ts';

export type Kind = 'upload' | 'note';

/** What a link says. With a password the secret is the protected one until checkPassword has unlocked the link. */
export type Link = {
  kind: Kind;
  /** Address of the service, without a slash at the end. */
  baseUrl: string;
  id: string;
  secret: Bytes;
  isUnlocked: boolean;
};

/** Where it is, without what opens it. */
export type Address = Pick<Link, 'baseUrl' | 'id'>;

const LETTERS: Record<Kind, string> = { upload: 'd', note: 'n' };
const PATH = new RegExp(`^(.*)/([dn])/(${ID_PATTERN})/?$`, 'i');

/** `{base}/d/<id>#<secret>` for an upload, `{base}/n/<id>#<secret>` for a note. */
export function formatLink({ kind, baseUrl, id, secret }: Pick<Link, 'kind' | 'baseUrl' | 'id' | 'secret'>): string {
  return `${baseUrl}/${LETTERS[kind]}/${id}#${toBase64url(secret)}`;
}

/** Throws `invalid-link`. The message never repeats the link: it holds the secret. */
export function parseLink(text: string): Link {
  const url = URL.parse(text.trim());
  const [, path = '', letter = '', id = ''] = PATH.exec(url?.pathname ?? '') ?? [];
  const secret = fromBase64url(url?.hash.slice(1) ?? '', SECRET_BYTES);
  if (!url || !/^https?:$/.test(url.protocol) || id === '' || !secret) throw new MayflyError('invalid-link');
  const kind = letter.toLowerCase() === LETTERS.note ? 'note' : 'upload';
  return { kind, baseUrl: `${url.origin}${path}`, id: id.toLowerCase(), secret, isUnlocked: false };
}

/** The address of a service as links begin with it. */
export function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new MayflyError('invalid-link', { message: 'The address of a service begins with https:// or http://' });
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
