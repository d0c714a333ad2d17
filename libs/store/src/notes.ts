import type { GoneReason, Password } from './uploads.ts';

/**
 * Longer content, in characters of base64, is stored and fetched apart from the others: nobody waits for it, and a hundred of
 * the largest notes never become one statement.
 */
export const SMALL_LENGTH = 16 * 1024;

export type ContentType = 'text' | 'password' | 'code' | 'markdown' | 'sshkey';

/** What creating a note records. Tokens arrive hashed; content and nonce are base64 as sent. */
export type NewNote = {
  id: string;
  authHash: Buffer;
  ownerHash: Buffer;
  salt: string;
  encryptedContent: string;
  nonce: string;
  contentType: ContentType;
  password?: Password;
  maxViews: number;
  expireSec: number;
};

/** A note as everyone may know it, and the hashes to compare with. The content comes with a view only. */
export type AvailableNote = Omit<NewNote, 'expireSec' | 'encryptedContent' | 'nonce'> & {
  status: 'available';
  /** Characters of base64. */
  contentLength: number;
  viewCount: number;
  createdAt: Date;
  expiresAt: Date;
};

export type GoneNote = {
  id: string;
  status: GoneReason;
  ownerHash: Buffer;
  hasPassword: boolean;
  /** Both of a used-up note with a view that can be repeated. */
  authHash?: Buffer;
  contentLength?: number;
};

export type Note = AvailableNote | GoneNote;

export type View = {
  encryptedContent: string;
  nonce: string;
  viewCount: number;
  maxViews: number;
  /** It was counted before, under the same key. */
  isRepeat?: boolean;
};

/** By what a client that asks again is known, and for how long. The key arrives hashed. */
export type Repeat = { keyHash: Buffer; forSec: number };

/** The table of notes. Clock and faults as with Uploads. */
export interface Notes {
  /**
   * Records the note and says when it ends. Rejects with NoRoom when it does not fit below the ceiling of all notes; what it
   * holds is free again when it is removed, or retired by the sweep.
   */
  add(note: NewNote): Promise<{ expiresAt: Date }>;
  find(id: string): Promise<Note | undefined>;
  /**
   * Counts one view and returns the content. Undefined when none is left. A view with a key counts once: the same key gets it
   * again for so many seconds, but not beyond the note's own time. The last view erases the content in the same step, or
   * leaves it for as long as a view can be repeated. Decision repeatable-views.
   */
  claimView(id: string, repeat?: Repeat): Promise<View | undefined>;
  /**
   * The same, if the note is small and the token's hash is its own: what nearly all views are, in one step. Undefined in every
   * other case, and nothing was counted; `find` tells which one it is.
   */
  claimSmallView(id: string, authHash: Buffer, repeat?: Repeat): Promise<View | undefined>;
  /** Deletes the note in any state. False when there was none. */
  remove(id: string): Promise<boolean>;
  /** Resolves when the table can be used now. */
  check(): Promise<void>;
}
