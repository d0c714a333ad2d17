import { type ErrorBody, HttpError, insufficientStorage, NoRoom } from '@mayfly/shared/errors';
import type { GoneReason } from '@mayfly/store/uploads';

// The contract's error table, in its order and its words.

export const notPasswordProtected = () => new HttpError(400, 'Upload is not password protected');
export const notSealed = () => new HttpError(400, 'Upload has no sealed metadata');
export const badAuthToken = () => new HttpError(401, 'Invalid or missing auth token');
export const badOwnerToken = () => new HttpError(401, 'Invalid or missing owner token');
export const wrongPassword = () => new HttpError(401, 'Invalid password');
export const uploadNotFound = () => new HttpError(404, 'Upload not found');
export const metadataAlreadySet = () => new HttpError(409, 'Metadata already set');
export const uploadGone = () => new HttpError(410, 'Upload expired or download limit reached');
/** The password check names expiry alone; a reached limit gets the general sentence. Contract 7. */
export const uploadGoneFor = (reason: GoneReason) =>
  reason === 'expired' ? new HttpError(410, 'Upload expired') : uploadGone();

/** The disk is down to its floor, or all uploads together have reached their ceiling. Decision exact-ceilings. */
export const noRoomForUpload = (cause?: unknown) =>
  insufficientStorage('Not enough storage space for this upload', cause);

export function withoutRoom(error: unknown): never {
  throw error instanceof NoRoom ? noRoomForUpload(error) : error;
}

export const uploadSealed = () => new HttpError(409, 'Upload is being completed');
export const sessionEnded = () => new HttpError(410, 'Upload session has ended');

export const leaseEnded = () => new HttpError(410, 'Download lease has ended');

/** All requests together have reached their ceiling, or PostgreSQL's disk is full. */
export const noRoomForRequest = (cause?: unknown) =>
  insufficientStorage('Not enough storage space for this request', cause);

export const requestNotFound = () => new HttpError(404, 'Request not found');
export const notBlocked = () => new HttpError(404);
export const metadataMissing = () => new HttpError(409, 'Metadata is not set');
export const requestExpired = () => new HttpError(410, 'Request has expired');
export const requestFull = () => new HttpError(410, 'Request is full');
export const requestWithoutRoom = () => new HttpError(410, 'Request has not enough room left');

/** 409 with the numbers of the parts that are missing, such as `18,20-22`. */
export class PartsMissing extends HttpError {
  override readonly body: ErrorBody & { missing: string };
  constructor(missing: string) {
    super(409, 'Parts are missing');
    this.body = { error: this.message, missing };
  }
}

/** The route's own sentence for a body over MAX_FILE_SIZE: 413. */
export const FILE_TOO_LARGE = 'File size exceeds maximum allowed size';
