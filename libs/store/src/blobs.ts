import type { Readable } from 'node:stream';

/** The body ended before, or went on after, its declared length. Nothing was stored. */
export class LengthMismatch extends Error {
  override name = 'LengthMismatch';
}

/** A payload that is stored, whoever knows of it. */
export type StoredBlob = { id: string; modifiedAt: Date };

/** Encrypted payloads, one per upload, named `<id>.bin`. Ids are lower-case UUIDs: callers have checked them. */
export interface BlobStore {
  /**
   * Stores exactly `sizeBytes` bytes, all or nothing: a short or long body (LengthMismatch), an abort, an error of the body
   * or of the store (Unavailable) leaves nothing. The body is never destroyed here, so that its sender can be answered.
   */
  put(id: string, body: AsyncIterable<Buffer>, sizeBytes: number, signal: AbortSignal): Promise<void>;
  /**
   * Opens the payload for reading, or undefined when there is none; Unavailable when it has another size than `sizeBytes`,
   * for then it is damaged. The stream is the caller's to read or destroy.
   */
  open(id: string, sizeBytes?: number): Promise<Readable | undefined>;
  /** Deletes the payloads; one that is not there is fine. Resolves with those that could not be deleted. */
  delete(ids: string[]): Promise<string[]>;
  /** Everything that is stored, a page at a time, in rising order of ids. What Mayfly has not named is left out. */
  list(): AsyncIterable<StoredBlob[]>;
  /** Removes what uploads that broke off before `before` have left half written (or only counts it); resolves with how many. */
  endPartials(before: Date, isDryRun: boolean): Promise<number>;
  /** Resolves when payloads can be stored now; rejects with Unavailable. */
  check(): Promise<void>;
}

const NAME = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.bin$/;

export const nameOf = (id: string) => `${id}.bin`;

/** The id in a payload's name; undefined for whatever else lies there. */
export const idOf = (name: string): string | undefined => NAME.exec(name)?.[1];
