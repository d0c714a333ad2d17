import type { GoneReason, Password } from './uploads.ts';

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
  viewCount: number;
  createdAt: Date;
  expiresAt: Date;
};

export type GoneNote = { id: string; status: GoneReason; ownerHash: Buffer; hasPassword: boolean };

export type Note = AvailableNote | GoneNote;

export type View = { encryptedContent: string; nonce: string; viewCount: number; maxViews: number };

/** The table of notes. Clock and faults as with Uploads. */
export interface Notes {
  /** Records the note and says when it ends. */
  add(note: NewNote): Promise<{ expiresAt: Date }>;
  find(id: string): Promise<Note | undefined>;
  /** Counts one view and returns the content; the last view erases it in the same step. Undefined when none is left. */
  claimView(id: string): Promise<View | undefined>;
  /** Deletes the note in any state. False when there was none. */
  remove(id: string): Promise<boolean>;
  /** Resolves when the table can be used now. */
  check(): Promise<void>;
}
