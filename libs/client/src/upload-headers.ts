import { MayflyError } from './errors.ts';
import type { Reader } from './fields.ts';
import { formatLink, parseAddress } from './link.ts';
import type { Protection } from './protection.ts';
import type { UploadOptions } from './upload-options.ts';

/** What the service is told about a new upload. Contract: POST /api/upload. */
export function uploadHeaders(
  fileCount: number,
  { keys, ownerToken, salt, password }: Protection,
  { expireSec, maxDownloads, maxFilesPerUpload = fileCount }: UploadOptions,
): Record<string, string> {
  return {
    'X-Auth-Token': keys.authToken,
    'X-Owner-Token': ownerToken,
    'X-Salt': salt,
    'X-Max-Downloads': String(maxDownloads),
    'X-Expire-Sec': String(expireSec),
    'X-File-Count': String(fileCount > maxFilesPerUpload ? 1 : fileCount),
    'X-Has-Password': String(password !== undefined),
    ...(password ? { 'X-Password-Salt': password.passwordSalt, 'X-Password-Algo': password.passwordAlgo } : {}),
  };
}

/** The address of an upload in an answer: what leads to no upload is no answer. */
export const uploadUrl: Reader<string> = (value) => {
  try {
    if (typeof value === 'string' && parseAddress(value).kind === 'upload') return value;
  } catch {
    // told below
  }
  throw new MayflyError('bad-answer');
};

/** The link of an upload. The service knows its public address, which may not be the one that the client uses. */
export function uploadLink(url: string, { linkSecret, said }: Protection): Promise<string> {
  return formatLink({ ...parseAddress(url), secret: linkSecret, protection: said });
}
