import Type from 'typebox';
import type { HttpError } from './errors.ts';
import { Kind, OneOf, parseId, type ReportKind, Timestamp } from './fields.ts';
import { tokenMatches } from './tokens.ts';

// What its owner sees of an item that the operator has blocked. Contract 17.

/** All that is left of it (`Block` of the store). */
export type Block = {
  item: string;
  kind: ReportKind;
  blockedAt: Date;
  ownerHash: Buffer;
  createdAt: Date;
  expiresAt: Date;
  usedCount: number;
  mostUses: number;
  wholeCount: number;
};

/** Where there may be any. */
export type Blocks = { find(id: string): Promise<Block | undefined> } | undefined;

const STATES = ['available', 'expired', 'limit_reached'] as const;

/** The fields of an owner's status that depend on whether something may be blocked. */
export const stateFields = (blocks: Blocks) =>
  blocks
    ? {
        state: OneOf([...STATES, 'blocked'], 'all but the first: it is over'),
        blockedAt: Type.Optional(Timestamp),
        kind: Type.Optional({ ...Kind, description: 'why it was blocked' }),
      }
    : { state: OneOf(STATES, 'the last two: it is over') };

/** The block of an item of that kind, for its owner; undefined when it is not blocked. Throws `badOwnerToken`. */
export async function findBlocked(
  blocks: Blocks,
  { kind, idText, ownerToken }: { kind: string; idText: string; ownerToken: string | string[] | undefined },
  badOwnerToken: () => HttpError,
): Promise<Block | undefined> {
  const id = blocks && parseId(idText);
  const block = id && (await blocks.find(id));
  if (!block || block.item !== kind) return undefined;
  if (!tokenMatches(ownerToken, block.ownerHash)) throw badOwnerToken();
  return block;
}

/** Times as they are answered. */
export const timesOf = ({
  createdAt,
  expiresAt,
  blockedAt,
}: {
  createdAt: Date;
  expiresAt: Date;
  blockedAt?: Date;
}) => ({
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
  ...(blockedAt ? { blockedAt: blockedAt.toISOString() } : {}),
});
