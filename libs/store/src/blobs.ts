import type { Readable } from 'node:stream';
import { Unavailable } from '@mayfly/shared/errors';
import type { BlobParts } from './blob-parts.ts';

/** The body ended before, or went on after, its declared length. Nothing was stored. */
export class LengthMismatch extends Error {
  override name = 'LengthMismatch';
}

/** A payload broke off after its reader had kept the store waiting: that is no fault of the store. */
export class KeptWaiting extends Unavailable {
  override name = 'KeptWaiting';
}

/** A payload that is stored, whoever knows of it. */
export type StoredBlob = { id: string; modifiedAt: Date };

/** Bytes `first` to `last` of a payload, both counted from 0 and both in it, as in RFC 9110, 14.1.2. */
export type ByteRange = { first: number; last: number };

/** Encrypted payloads, one per upload, named `<id>.bin`. Ids are lower-case UUIDs: callers have checked them. */
export interface BlobStore {
  /**
   * Keeps room for a payload until it is put, or until this is disposed of. NoRoom when there is not enough, Unavailable when the
   * store cannot say. A store whose room nobody knows has room.
   */
  reserve(id: string, sizeBytes: number): Promise<Disposable>;
  /**
   * Stores exactly `sizeBytes` bytes, all or nothing: a short or long body (LengthMismatch), an abort, an error of the body
   * or of the store (Unavailable; NoRoom when it is full) leaves nothing. The body is never destroyed here, so that its sender can be answered.
   */
  put(id: string, body: AsyncIterable<Buffer>, sizeBytes: number, signal: AbortSignal): Promise<void>;
  /**
   * Opens the payload, or a range of it, for reading, or undefined when there is none; Unavailable when it has another size than
   * `sizeBytes`, for then it is damaged. The stream is the caller's to read or destroy. It may fail while nobody listens: it is then
   * destroyed, and `errored` says why. KeptWaiting when it failed because its reader had stalled.
   */
  open(id: string, sizeBytes?: number, range?: ByteRange): Promise<Readable | undefined>;
  /** All of a payload of `sizeBytes` in one buffer, for payloads that are small; else as `open`. */
  read(id: string, sizeBytes: number): Promise<Buffer | undefined>;
  /** Deletes the payloads; one that is not there is fine. Resolves with those that could not be deleted. */
  delete(ids: string[]): Promise<string[]>;
  /** Everything that is stored, a page at a time, in rising order of ids. What Mayfly has not named is left out. */
  list(): AsyncIterable<StoredBlob[]>;
  /**
   * Removes what uploads that broke off before `before` have left half written (or only counts it); resolves with how many.
   * `arriving` tells which of some ids are still coming in parts: their parts stay.
   */
  endPartials(
    before: Date,
    isDryRun: boolean,
    arriving: (ids: string[]) => Promise<ReadonlySet<string>>,
  ): Promise<number>;
  /** Payloads that come in parts. */
  readonly parts: BlobParts;
  /** Resolves when payloads can be stored now; rejects with Unavailable, or with NoRoom when the store is full. */
  check(): Promise<void>;
}

/** For stores that do not know how much room they have. */
export const NOTHING_RESERVED: Disposable = { [Symbol.dispose]() {} };

const NAME = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.bin$/;

export const nameOf = (id: string) => `${id}.bin`;

/** The id in a payload's name; undefined for whatever else lies there. */
export const idOf = (name: string): string | undefined => NAME.exec(name)?.[1];
