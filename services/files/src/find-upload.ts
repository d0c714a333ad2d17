import type { IncomingHttpHeaders } from 'node:http';
import { parseId } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { AvailableUpload, Upload, Uploads } from '@mayfly/store/uploads';
import { badOwnerToken, uploadGone, uploadNotFound } from './errors.ts';

/** Who says to be the owner of an upload, in a request. */
export type Owner = { id: string; ownerToken: string | string[] | undefined };

export const ownerIn = ({ params, headers }: { params: { id: string }; headers: IncomingHttpHeaders }): Owner => ({
  id: params.id,
  ownerToken: headers['x-owner-token'],
});

/** The upload in whatever state, or 404; a malformed id is an unknown one. Contract 1. */
export async function findUpload(uploads: Uploads, idText: string): Promise<Upload> {
  const id = parseId(idText);
  const upload = id && (await uploads.find(id));
  if (!upload) throw uploadNotFound();
  return upload;
}

/** The same for its owner; 401 for everybody else. */
export async function findOwned(uploads: Uploads, { id, ownerToken }: Owner): Promise<Upload> {
  const upload = await findUpload(uploads, id);
  if (!tokenMatches(ownerToken, upload.ownerHash)) throw badOwnerToken();
  return upload;
}

/** Narrows to an upload that can be used, or 410. */
export function assertAvailable(upload: Upload): asserts upload is AvailableUpload {
  if (upload.status !== 'available') throw uploadGone();
}
