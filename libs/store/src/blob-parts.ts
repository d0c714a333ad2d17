import type { Part } from './upload-sessions.ts';

/** The store has nothing of this payload (any more), or takes no more parts of it. */
export class PartsGone extends Error {
  override name = 'PartsGone';
}

/** The store does not have these parts as they were recorded. Whatever else it has stays. */
export class PartsRefused extends Error {
  override name = 'PartsRefused';
  readonly numbers: number[];
  constructor(numbers: number[]) {
    super(`the store does not have ${numbers.length} parts as they were recorded`);
    this.numbers = numbers;
  }
}

export type PartPlace = { id: string; storeRef: string; number: number };

/**
 * Payloads that come in parts, in any order, through any number of processes. Nothing of one can be opened or listed before it is
 * complete. All methods reject with Unavailable when the store cannot be reached, and may then be called again.
 */
export interface BlobParts {
  /** Begins a payload; resolves with what the store calls it. */
  begin(id: string): Promise<string>;
  /**
   * Stores one part of exactly `sizeBytes` bytes, all or nothing, as `BlobStore.put` does. Resolves with the store's name for these
   * very bytes. Any number of tries of a part may be under way. Rejects with PartsGone when the payload is complete or was aborted.
   */
  put(place: PartPlace, body: AsyncIterable<Buffer>, sizeBytes: number, signal: AbortSignal): Promise<string>;
  /** Forgets one try of a part, if the store keeps it beside the others. Best effort: `abort` forgets it, too. */
  drop(place: PartPlace, tag: string): Promise<void>;
  /**
   * Makes the payload of these parts, which are in order and of one length but for the last. It may be called again at any time, by
   * any number of callers at once, also when it is complete. Rejects with PartsRefused, or with PartsGone when the payload was aborted.
   */
  complete(id: string, storeRef: string, parts: Part[]): Promise<void>;
  /** Forgets all parts; a payload that is complete stays. It may be called again: a part that was under way may come after it. */
  abort(id: string, storeRef: string): Promise<void>;
}

export const lengthOf = (parts: Part[]) => parts.reduce((sum, { bytes }) => sum + bytes, 0);
