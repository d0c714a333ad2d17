import { HttpError, insufficientStorage } from '@mayfly/shared/errors';
import type { GoneReason } from '@mayfly/store/uploads';

// The contract's error table, in its order and its words.

export const notPasswordProtected = () => new HttpError(400, 'Note is not password-protected');
export const badAuthToken = () => new HttpError(401, 'Invalid auth token');
export const wrongPassword = () => new HttpError(401, 'Invalid password');
export const badOwnerToken = () => new HttpError(401, 'Invalid owner token');
export const noteNotFound = () => new HttpError(404, 'Note not found');
/** Expired and used up have their own sentences, on every endpoint alike. Contract 7. */
export const noteGone = (reason: GoneReason) =>
  new HttpError(410, reason === 'expired' ? 'Note has expired' : 'View limit reached');

/** The sentence for content over NOTE_MAX_SIZE: 413. */
export const NOTE_TOO_LARGE = 'Note content exceeds maximum size';
export const noteTooLarge = () => new HttpError(413, NOTE_TOO_LARGE);

/** All notes together have reached their ceiling, or PostgreSQL's disk is full. Decision exact-ceilings. */
export const noRoomForNote = (cause?: unknown) => insufficientStorage('Not enough storage space for this note', cause);
