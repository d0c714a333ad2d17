import { parseId } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { FileRequest, FileRequests } from '@mayfly/store/file-requests';
import { badOwnerToken, requestNotFound } from './errors.ts';
import type { Owner } from './find-upload.ts';

/** The request in whatever state, or 404. */
export async function findRequest(requests: FileRequests, idText: string): Promise<FileRequest> {
  const id = parseId(idText);
  const request = id && (await requests.find(id));
  if (!request) throw requestNotFound();
  return request;
}

/** The same for whoever has asked; 401 for everybody else. */
export async function findOwnRequest(requests: FileRequests, { id, ownerToken }: Owner): Promise<FileRequest> {
  const request = await findRequest(requests, id);
  if (!tokenMatches(ownerToken, request.ownerHash)) throw badOwnerToken();
  return request;
}
