import type { ReportKind } from '@mayfly/shared/fields';

export type { ReportKind };

/** What somebody says of an item. `authHash` and `disclosed` are claims: nobody has compared them with the item. */
export type NewReport = {
  kind: ReportKind;
  text: string;
  /** SHA-256 of the auth token that came with it. */
  authHash?: Buffer | undefined;
  /** The fragment of the link, sealed for the operator: base64. */
  disclosed?: { enc: string; sealed: string } | undefined;
};

/** So many reports of one item are kept, a later one in the place of the last; and so many of all. Decision reports-without-a-look. */
export const MOST_OF_ITEM = 20;
export const MOST_IN_ALL = 10_000;

/** Clock and faults as with Uploads. */
export interface Reports {
  /** Keeps it, without a look at the item; drops it where there are enough in all. The caller does not learn which. */
  add(itemId: string, report: NewReport): Promise<void>;
}

export type ItemKind = 'upload' | 'note' | 'request';

/** An item that an operator has blocked: all that is left of it. */
export type Block = {
  item: ItemKind;
  kind: ReportKind;
  blockedAt: Date;
  ownerHash: Buffer;
  createdAt: Date;
  expiresAt: Date;
  usedCount: number;
  mostUses: number;
  wholeCount: number;
};

export interface Blocks {
  /** Undefined when it is not blocked, or no longer told. */
  find(id: string): Promise<Block | undefined>;
}

/** A report as the operator sees it. */
export type OpenReport = {
  itemId: string;
  number: number;
  kind: ReportKind;
  text: string;
  disclosed?: { enc: string; sealed: string };
  at: Date;
  /** Undefined when there is no such item. */
  item: ItemKind | undefined;
  /** Whether its reporter had the auth token of the item; undefined where that was not said or cannot be told. */
  hadToken: boolean | undefined;
};

/** What it takes to compare a disclosed link with the item. */
export type Evidence = {
  item: ItemKind;
  hasPassword: boolean;
  salt?: string;
  authHash?: Buffer;
  publicKey?: string;
};

/** The operator's desk. */
export interface Desk {
  /** The oldest first, at most so many. */
  open(limit: number): Promise<OpenReport[]>;
  find(itemId: string, number: number): Promise<OpenReport | undefined>;
  evidence(itemId: string): Promise<Evidence | undefined>;
  /** Forgets the reports of an item. Resolves with how many there were. */
  dismiss(itemId: string): Promise<number>;
  /**
   * Erases the item and all that could open it, in one step, whatever its state, and remembers that for `noticeSec`. Its blob is
   * queued for deletion, its leases and sessions have ended, its reports are closed. Undefined when there is none.
   */
  block(itemId: string, kind: ReportKind, noticeSec: number): Promise<ItemKind | undefined>;
  /** Nobody is told any more. What was erased stays so. False when it was not blocked. */
  unblock(itemId: string): Promise<boolean>;
  /** Seconds since the oldest report of something that is there; 0 without one. */
  oldestSec(): Promise<number>;
}

export interface DeskSweep {
  /** Reports of what is not there, or not any more. Resolves with how many. */
  endReports(): Promise<number>;
  /** Blocks whose time to be told is over. */
  endBlocks(limit: number): Promise<number>;
}
