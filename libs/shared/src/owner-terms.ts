import Type from 'typebox';
import type { Config } from './config.ts';
import { HttpError, invalidRequest } from './errors.ts';
import { OneOf, Timestamp } from './fields.ts';
import { type NoticeLimits, noticeKinds } from './owner-notices.ts';
import type { ownerSettings } from './settings.ts';

// What the endpoints of owners have in common, whatever they own. Contract 12.

/** An item as its owner sees it, but for its counts, which have names of their own. */
export const Owned = {
  state: OneOf(['available', 'expired', 'limit_reached'], 'the last two: it is over'),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  usedAt: Type.Array(Timestamp, { description: 'when it was used, to the minute; what is not known is missing' }),
  hooks: Type.Optional(Type.Integer({ minimum: 0, description: 'who is told of uses; absent where nobody can be' })),
};

/** An item as the tables know it. */
type Facts = {
  status: 'available' | 'expired' | 'limit_reached';
  createdAt: Date;
  expiresAt: Date;
  usedAt: Date[];
  hookCount: number;
};

export const toOwned = ({ status, createdAt, expiresAt, usedAt, hookCount }: Facts, limits: NoticeLimits) => ({
  state: status,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
  usedAt: usedAt.map((at) => at.toISOString()),
  ...(noticeKinds(limits) ? { hooks: hookCount } : {}),
});

/** What may be said of the lifetime: one of the options, counted from now, or the end. */
export const NewExpireSec = (options: number[]) =>
  Type.Optional(OneOf([0, ...options], 'seconds from now, as far as it may live at all; 0 ends it at once'));

/** The longest life in all, in seconds, of what may choose from these options. */
export function longestLife({ MAX_LIFETIME_SEC: longest }: Config<typeof ownerSettings>, options: number[]): number {
  return longest ?? Math.max(...options);
}

export const belowWhatWasUsed = () => new HttpError(409, 'Below what was used');

/**
 * The limit of uses that an owner may set: one of the options, or what was used, which closes it. 400 for any other, and when nothing is
 * to be changed at all.
 */
export function assertTerms(
  { expireSec, uses }: { expireSec?: number | undefined; uses?: number | undefined },
  { name, options, usedCount }: { name: string; options: number[]; usedCount: number },
) {
  if (expireSec === undefined && uses === undefined) throw invalidRequest({ [name]: ['or expireSec is required'] });
  if (uses === undefined || uses === usedCount || options.includes(uses)) return;
  throw uses < usedCount
    ? belowWhatWasUsed()
    : invalidRequest({ [name]: [`must be one of ${options.join(', ')}, or what was used`] });
}
