import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '@mayfly/shared/config';
import { canonicalBase64url, OneOf, PasswordAlgo, Salt, Token } from '@mayfly/shared/fields';
import type { uploadSettings } from '@mayfly/shared/settings';
import { hashToken } from '@mayfly/shared/tokens';
import type { NewUpload } from '@mayfly/store/uploads';
import Type, { type Static, type TProperties } from 'typebox';

export type UploadHeaders = Static<ReturnType<typeof uploadHeaders>>;

type Limits = Config<typeof uploadSettings>;

/** Contract: POST /api/upload, headers. Integers are integers here: `readHeaders` has turned their text into numbers. */
export function uploadHeaders(limits: Limits) {
  return headersWith(limits, {
    'Content-Length': Type.Integer({
      minimum: 1,
      maximum: limits.MAX_FILE_SIZE,
      description: 'payload size in bytes',
    }),
  });
}

/** The same with the fields that tell the payload's length. */
export function headersWith<const Lengths extends TProperties>(limits: Limits, lengths: Lengths) {
  return Type.Object(
    {
      'X-Auth-Token': Token('the auth token'),
      'X-Owner-Token': Token('the owner token'),
      'X-Salt': Salt('the HKDF salt'),
      'X-Max-Downloads': OneOf(limits.DOWNLOAD_OPTIONS, 'download limit'),
      'X-Expire-Sec': OneOf(limits.EXPIRE_OPTIONS_SEC, 'lifetime in seconds'),
      'X-File-Count': Type.Integer({
        minimum: 1,
        maximum: limits.MAX_FILES_PER_UPLOAD,
        description: 'number of files: 1, or more for an archive',
      }),
      'X-Has-Password': OneOf(['true', 'false'], 'whether a password protects the upload'),
      ...lengths,
      'X-Password-Salt': Type.Optional(Salt('the password salt; required with a password')),
      'X-Password-Algo': Type.Optional(PasswordAlgo),
    },
    {
      if: { properties: { 'X-Has-Password': { const: 'true' } }, required: ['X-Has-Password'] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword's name in JSON Schema
      then: { required: ['X-Password-Salt', 'X-Password-Algo'] },
    },
  );
}

const INTEGERS = new Set([
  'X-Max-Downloads',
  'X-Expire-Sec',
  'X-File-Count',
  'Content-Length',
  'X-Upload-Length',
  'X-Upload-Length-Max',
  'X-Part-Bytes',
]);
const PASSWORD_FIELDS = ['X-Password-Salt', 'X-Password-Algo'];

/** The request's headers under the contract's names, decimal text as numbers, and nothing else. Not validated yet. */
export function readHeaders(headers: IncomingHttpHeaders, names: string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const text = headers[name.toLowerCase()];
    if (text === undefined) continue;
    const isInteger = INTEGERS.has(name) && typeof text === 'string' && /^(0|[1-9]\d{0,15})$/.test(text);
    values[name] = isInteger ? Number(text) : text;
  }
  // Without a password its fields mean nothing, whatever they hold.
  if (values['X-Has-Password'] === 'false') for (const name of PASSWORD_FIELDS) delete values[name];
  return values;
}

/** What is recorded of an upload whose headers are acceptable. */
export function toNewUpload(id: string, headers: Omit<UploadHeaders, 'Content-Length'>, sizeBytes: number): NewUpload {
  const salt = headers['X-Password-Salt'];
  const algo = headers['X-Password-Algo'];
  return {
    id,
    authHash: hashToken(headers['X-Auth-Token']),
    ownerHash: hashToken(headers['X-Owner-Token']),
    salt: canonicalBase64url(headers['X-Salt']),
    sizeBytes,
    fileCount: headers['X-File-Count'],
    ...(salt && algo ? { password: { algo, salt: canonicalBase64url(salt) } } : {}),
    maxDownloads: headers['X-Max-Downloads'],
    expireSec: headers['X-Expire-Sec'],
  };
}
