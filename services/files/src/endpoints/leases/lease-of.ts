import type { IncomingHttpHeaders } from 'node:http';
import { invalidRequest } from '@mayfly/shared/errors';
import { Token } from '@mayfly/shared/fields';
import { hashToken, tokenMatches } from '@mayfly/shared/tokens';
import type { LeasedUpload, LeaseKey } from '@mayfly/store/download-leases';
import Type from 'typebox';
import type { FilesDeps } from '../../deps.ts';
import { badAuthToken, uploadGone } from '../../errors.ts';
import { findUpload } from '../../find-upload.ts';

export const headers = Type.Object({
  'X-Auth-Token': Token('the auth token'),
  'X-Download-Lease': Type.String({
    pattern: '^[A-Za-z0-9_-]{43}$',
    description: '32 random bytes as base64url, chosen by the recipient: the name of this download',
  }),
});

export const NO_LEASE = { 'X-Download-Lease': ['must be base64url of 32 bytes'] };

/** The SHA-256 of the lease that a request names; 400 when it names none. */
export function leaseIn({ 'x-download-lease': token }: IncomingHttpHeaders): Buffer {
  if (typeof token !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(token)) throw invalidRequest(NO_LEASE);
  return hashToken(token);
}

/** The lease that is meant, and its upload; one that is used up or has expired is found by whoever has a lease. 400, 404, 410, 401. */
export async function leaseOf(
  { uploads, leases }: Pick<FilesDeps, 'uploads' | 'leases'>,
  idText: string,
  fields: IncomingHttpHeaders,
): Promise<{ key: LeaseKey; upload: LeasedUpload & { maxDownloads?: number } }> {
  const tokenHash = leaseIn(fields);
  const found = await findUpload(uploads, idText);
  const key = { id: found.id, tokenHash };
  const upload = found.status === 'available' ? found : await leases.find(key);
  if (!upload) throw uploadGone();
  if (!tokenMatches(fields['x-auth-token'], upload.authHash)) throw badAuthToken();
  return { key, upload };
}
