import type { Hooks } from './hooks.ts';
import type { GoneReason } from './uploads.ts';

/** What its owner may know of an upload or a note, also when it is over. */
export type OwnedItem = {
  status: 'available' | GoneReason;
  ownerHash: Buffer;
  createdAt: Date;
  expiresAt: Date;
  /** Downloads or views so far, and how many there may be. */
  usedCount: number;
  mostUses: number;
  /** To the minute, the earliest first. Fewer than `usedCount` where times were not kept. */
  usedAt: Date[];
  /** Of an upload: downloads that arrived whole, as far as anybody could tell. */
  wholeCount: number;
  hasMeta: boolean;
  /** Who is told of uses. */
  hookCount: number;
};

/** What its owner changes. Seconds from now; 0 ends it. */
export type NewTerms = { expireSec?: number | undefined; mostUses?: number | undefined };

/** `gone`: it is over, or unknown. `used`: there were more uses than that. */
export type Verdict = 'changed' | 'gone' | 'used';

/** Uploads, or notes, as their owners see them. Clock and faults as with Uploads. */
export interface OwnedItems {
  /** Undefined while an upload is on its way. */
  find(id: string): Promise<OwnedItem | undefined>;
  /**
   * Changes the end or the limit of what is available, all or nothing, in one step with the uses that happen meanwhile: there are never
   * more of them than the old or the new limit, whichever was in force. What would live longer than `longestSec` in all ends then.
   */
  setTerms(id: string, terms: NewTerms, longestSec: number): Promise<Verdict>;
  /** Uses from now on are told to these as well; one of a kind takes the place of the one before. False when the item is not available. */
  setHooks(id: string, hooks: Hooks): Promise<boolean>;
  /** Nobody is told any more, not even of the uses that there were. */
  endHooks(id: string): Promise<void>;
}
