import { type ErrorCode, type MayflyClient, MayflyError, type OwnStatus } from '@mayfly/client';
import type { RequestStatus } from '@mayfly/client/requests';
import { isContent, keepLinkOf, type SentItem } from './sent-item.ts';

/** When it was used, where the service tells its owner. */
type Uses = Pick<OwnStatus, 'usedAt' | 'wholeCount'>;

export type Status =
  | { state: 'available'; usedCount: number; maxUses: number; expiresAt: string; uses?: Uses }
  /** It was. */
  | { state: 'expired' | 'used-up'; usedCount?: number; maxUses?: number; uses?: Uses }
  /** By the operator of the service. */
  | { state: 'blocked' }
  /** `gone`: deleted, or so long ago that the service has forgotten it. `elsewhere`: on another service than this page's. */
  | { state: 'gone' | 'elsewhere' }
  /** Nobody could say. */
  | { state: 'unknown'; code: ErrorCode };

/** Whether nobody can use it any more. */
export function isEnded(status: Status | undefined): boolean {
  return status !== undefined && ['expired', 'used-up', 'blocked', 'gone'].includes(status.state);
}

const ASK_AGAIN_MS = 30_000;
/** So that the service's clock has passed the end as well. */
const AFTER_THE_END_MS = 1_000;

/** When there may be something new: after a while, or as soon as the time of one of them is over. */
export function askAgainAfterMs(statuses: Iterable<Status>, now = Date.now()): number {
  const ends = Array.from(statuses, (status) =>
    status.state === 'available' ? Date.parse(status.expiresAt) : Infinity,
  );
  return Math.max(AFTER_THE_END_MS, Math.min(ASK_AGAIN_MS, ...ends.map((end) => end - now + AFTER_THE_END_MS)));
}

type Options = { signal?: AbortSignal | undefined };
/** `isOwner`: whether the service tells owners more than everybody. */
type AskOptions = Options & {
  isOwner?: boolean;
  listDrops?: (keepLink: string) => Promise<RequestStatus>;
  /** Whether the operator has blocked a request: its owner's question is answered as if nobody had asked for files. */
  isBlocked?: (id: string) => Promise<boolean>;
};
type Asks = Pick<MayflyClient, 'getUsage'> & Partial<Pick<MayflyClient, 'getOwnStatus'>>;

export function toStatus({ state, usedCount, maxUses, expiresAt, usedAt, wholeCount }: OwnStatus): Status {
  if (state === 'blocked') return { state };
  const uses = { usedAt, ...(wholeCount === undefined ? {} : { wholeCount }) };
  return state === 'available' ? { state, usedCount, maxUses, expiresAt, uses } : { state, usedCount, maxUses, uses };
}

/** What was sent to a file request can be opened for a while after its end. */
function toRequestStatus(found: RequestStatus | undefined): Status {
  if (!found) return { state: 'unknown', code: 'invalid-request' };
  const { state, dropsLeft, maxDrops, drops, dropExpireSec, expiresAt } = found;
  const counts = { usedCount: maxDrops - dropsLeft, maxUses: maxDrops };
  if (state !== 'expired') return { state: 'available', ...counts, expiresAt };
  const ends = drops
    .filter(({ available }) => available)
    .map(({ at = expiresAt }) => Date.parse(at) + dropExpireSec * 1000);
  if (ends.length === 0) return { state, ...counts };
  return {
    state: 'available',
    usedCount: maxDrops,
    maxUses: maxDrops,
    expiresAt: new Date(Math.max(...ends)).toISOString(),
  };
}

/** Asks the service; spends nothing, and sends nothing but the id, and the owner token to a service that tells owners more. */
export async function readStatus(
  client: Asks,
  service: string,
  item: SentItem,
  { isOwner = false, listDrops, isBlocked, ...options }: AskOptions,
): Promise<Status> {
  if (item.service !== service) return { state: 'elsewhere' };
  try {
    if (!isContent(item)) return toRequestStatus(await listDrops?.(keepLinkOf(item)));
    const { ownerSecret } = item;
    if (isOwner && client.getOwnStatus) return toStatus(await client.getOwnStatus(item, { ...options, ownerSecret }));
    return { state: 'available', ...(await client.getUsage(item, options)) };
  } catch (error) {
    if (!(error instanceof MayflyError) || error.code === 'aborted') throw error;
    const isGone = error.code === 'not-found' && !isContent(item);
    // Best effort: it is gone in any case.
    if (isGone && (await isBlocked?.(item.id).catch(() => false))) return { state: 'blocked' };
    return whyNot(error.code, item);
  }
}

function whyNot(code: ErrorCode, { expiresAt }: SentItem): Status {
  if (code === 'expired' || code === 'used-up') return { state: code };
  if (code !== 'not-found') return { state: 'unknown', code };
  return { state: Date.parse(expiresAt) <= Date.now() ? 'expired' : 'gone' };
}

/** Asks for all of them, a few at a time, and reports each as it comes. Ends when the signal is aborted. */
export async function readStatuses(
  items: SentItem[],
  read: (item: SentItem) => Promise<Status>,
  onStatus: (item: SentItem, status: Status) => void,
  { signal, atOnce = 4 }: Options & { atOnce?: number } = {},
): Promise<void> {
  const waiting = items.values();
  const work = async () => {
    // All share one iterator, so each item is taken once.
    for (const item of waiting) {
      const status = await read(item).catch((error) => {
        if (!signal?.aborted) throw error;
      });
      if (signal?.aborted || !status) return;
      onStatus(item, status);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
