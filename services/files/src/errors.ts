import { HttpError, insufficientStorage } from '@mayfly/shared/errors';
import type { GoneReason } from '@mayfly/store/uploads';

// The contract's error table, in its order and its words.

export const notPasswordProtected = () => new HttpError(400, 'Upload is not password protected');
export const badAuthToken = () => new HttpError(401, 'Invalid or missing auth token');
export const badOwnerToken = () => new HttpError(401, 'Invalid or missing owner token');
export const wrongPassword = () => new HttpError(401, 'Invalid password');
export const uploadNotFound = () => new HttpError(404, 'Upload not found');
export const metadataAlreadySet = () => new HttpError(409, 'Metadata already set');
export const uploadGone = () => new HttpError(410, 'Upload expired or download limit reached');
/** The password check names expiry alone; a reached limit gets the general sentence. Decision 7. */
export const uploadGoneFor = (reason: GoneReason) =>
  reason === 'expired' ? new HttpError(410, 'Upload expired') : uploadGone();

/** The disk is down to its floor, or all uploads together have reached their ceiling. Decision 76. */
export const noRoomForUpload = (cause?: unknown) =>
  insufficientStorage('Not enough storage space for this upload', cause);

/** The route's own sentence for a body over MAX_FILE_SIZE: 413. */
export const FILE_TOO_LARGE = 'File size exceeds maximum allowed size';
