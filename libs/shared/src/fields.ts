import { ID_PATTERN, NOTE_CONTENT_TYPES, PASSWORD_ALGOS, REPORT_KINDS, type ReportKind } from '@mayfly/vocabulary';
import Type from 'typebox';

// The contract's field types. `base64` and `base64url` (RFC 4648, sections 4 and 5) are different: neither accepts the
// other's characters. Padding of base64url may be sent and is never answered.

export const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';
/** A token is compared, never decoded: that its characters are base64url's is all that is asked. */
const TOKEN = '^[A-Za-z0-9_-]+={0,2}$';

/** Longest token that is accepted; the contract's clients send 43 characters (32 bytes). */
const TOKEN_MAX_LENGTH = 512;
/** Largest body of a request that sends one token, or needs no body at all. */
export const TOKEN_BODY_BYTES = 4 * 1024;
/** Largest body with metadata: names, types and sizes of all files, encrypted. */
export const META_BODY_BYTES = 256 * 1024;

export const Base64 = (description: string) =>
  Type.String({ pattern: BASE64, minLength: 1, description: `non-empty base64, ${description}` });
export const Token = (description: string) =>
  Type.String({ pattern: TOKEN, minLength: 1, maxLength: TOKEN_MAX_LENGTH, description: `base64url, ${description}` });
/** What BASE64 says, for texts of any length: the regular expression's stack ends at some millions of characters. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding));
}

/** 16 bytes as base64url. */
export const Salt = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]{22}(?:==)?$', description: `base64url of 16 bytes, ${description}` });
/** 32 bytes as base64url. */
export const SHARE_PATTERN = '^[A-Za-z0-9_-]{43}$';
const aboutShare = { description: 'base64url of 32 bytes: what it takes besides the secret to open sealed metadata' };
export const Share = Type.String({ pattern: SHARE_PATTERN, ...aboutShare });
/** Where what is none is ignored. */
export const PossibleShare = Type.Unknown(aboutShare);
/** 12 bytes as base64, the nonce of AES-256-GCM. */
export const NoteNonce = Type.String({
  pattern: '^[A-Za-z0-9+/]{16}$',
  description: 'base64 of 12 bytes, the nonce of the ciphertext',
});
/** One of some values, in the schema as in the type. */
export const OneOf = <const T extends string | number>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: typeof values[0] === 'number' ? 'integer' : 'string', enum: values, description });
/** What it is, or null when there is none. */
export const Nullable = <T extends string>(description: string) =>
  Type.Unsafe<T | null>({ type: ['string', 'null'], description });

export const PasswordAlgo = OneOf(PASSWORD_ALGOS, 'key derivation of the password');
export type { ReportKind };
export const isReportKind = (text: string): text is ReportKind => (REPORT_KINDS as readonly string[]).includes(text);
export const Kind = OneOf(REPORT_KINDS, 'what it is about');
export const ContentType = OneOf(NOTE_CONTENT_TYPES, 'what the plaintext is');
export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC, milliseconds' });
export const Id = Type.String({ format: 'uuid' });

const ID = new RegExp(`^${ID_PATTERN}$`);

/** The id in its stored form, or undefined when no item can have it. Contract 1. */
export function parseId(text: string): string | undefined {
  const id = text.toLowerCase();
  return ID.test(id) ? id : undefined;
}

/** The one spelling of some base64url bytes: no padding, no stray bits at the end. */
export function canonicalBase64url(text: string): string {
  return Buffer.from(text, 'base64url').toString('base64url');
}

/** Decoded length in bytes of valid base64, without decoding it. */
export function base64Bytes(text: string): number {
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}
