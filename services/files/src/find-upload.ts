import { parseId } from '@mayfly/shared/fields';
import type { AvailableUpload, Upload, Uploads } from '@mayfly/store/uploads';
import { uploadGone, uploadNotFound } from './errors.ts';

/** The upload in whatever state, or 404; a malformed id is an unknown one. Decision 4. */
export async function findUpload(uploads: Uploads, idText: string): Promise<Upload> {
  const id = parseId(idText);
  const upload = id && (await uploads.find(id));
  if (!upload) throw uploadNotFound();
  return upload;
}

/** Narrows to an upload that can be used, or 410. */
export function assertAvailable(upload: Upload): asserts upload is AvailableUpload {
  if (upload.status !== 'available') throw uploadGone();
}
