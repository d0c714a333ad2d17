import type { EncryptedMeta, NewUpload } from './uploads.ts';

/** How an upload that comes in parts begins. */
export type NewSession = {
  /** What the blob store calls the payload that comes in parts. */
  storeRef: string;
  /** Length of every part but the last, in bytes. */
  partBytes: number;
  /** Whether the upload's `sizeBytes` is its length, or only the most that it may be. */
  isExact: boolean;
  /** Whether strangers may be told how far it is. */
  isAnnounced: boolean;
  /** So long from now it can be completed, and not a moment longer. */
  sessionSec: number;
};

/** An upload that is coming in parts. `mostBytes` is its length, or without `isExact` the most that it may be. */
export type Session = Omit<NewSession, 'sessionSec'> & {
  id: string;
  mostBytes: number;
  ownerHash: Buffer;
  isSealed: boolean;
  hasEnded: boolean;
  endsAt: Date;
};

/** One part as the blob store holds it; `tag` is the store's name for these very bytes. */
export type Part = { number: number; bytes: number; tag: string };

/** `digest`: the SHA-256 of its bytes, where the sender has told it. */
export type RecordedPart = Part & { digest?: Buffer };

/** Nothing but what is in these parts can become the payload. `seal` names this decision. */
export type Sealed = { seal: string; parts: Part[] };

/**
 * Uploads that come in parts. Each is a row of the table of uploads as well, on its way until it is published. Every method is one
 * step that happens or does not, whoever does the same at the same time, and rejects with Unavailable when the store cannot be reached.
 */
export interface UploadSessions {
  /**
   * Records the upload and its session; resolves with the session's end. Rejects with NoRoom when all of it would not fit below the
   * ceiling of all uploads now. It holds nothing yet.
   */
  begin(upload: NewUpload, session: NewSession): Promise<Date>;
  find(id: string): Promise<Session | undefined>;
  /** What has been recorded, in the order of numbers. */
  parts(id: string): Promise<Part[]>;
  part(id: string, number: number): Promise<RecordedPart | undefined>;
  /**
   * Holds room below the ceiling for one try of a part, before its bytes are taken; NoRoom when there is none. It stays held with what
   * was recorded, at the longest until the session is over and what there is of it has been deleted.
   */
  hold(id: string, bytes: number): Promise<void>;
  /** Of a try that was not recorded, or has taken the place of another that holds as much. */
  letGo(id: string, bytes: number): Promise<void>;
  /**
   * Records a part that the blob store has; the last one of a number counts. Resolves with the tag of the part that it takes the
   * place of, or undefined when the session takes none any more: it is sealed, has ended or is gone.
   */
  record(id: string, part: RecordedPart): Promise<{ replacedTag?: string } | undefined>;
  /**
   * Ends the taking of parts, if those that are recorded are all that a payload of this length has: numbered from 1, each but the
   * last of the session's length. Whoever asks again, for the same length, gets the same answer. Undefined when something is
   * missing or too much, when the session has ended and when there is none; then nothing has changed.
   */
  seal(id: string, lengthBytes: number): Promise<Sealed | undefined>;
  /** The blob store does not have these parts as they are recorded: they are taken anew. Does nothing under another seal. */
  unseal(id: string, seal: string, numbers: number[]): Promise<void>;
  /**
   * Makes the upload available, described by `meta`, and forgets session and parts. `givenBackBytes`: by how much it is shorter than
   * it might have been; absent for whoever asks again. Undefined when it was taken back meanwhile.
   */
  publish(id: string, lengthBytes: number, meta?: EncryptedMeta): Promise<{ givenBackBytes?: number } | undefined>;
  /** Takes the upload back, and queues what the blob store has of it for deletion. Undefined when there was none. */
  cancel(id: string): Promise<{ givenBackBytes: number; storeRef: string } | undefined>;
}

/** How many parts a payload has. */
export const partCount = (lengthBytes: number, partBytes: number) => Math.ceil(lengthBytes / partBytes);

/** The length that a part has in a payload of this length. */
export function bytesOfPart(number: number, lengthBytes: number, partBytes: number): number {
  return Math.min(partBytes, lengthBytes - (number - 1) * partBytes);
}
