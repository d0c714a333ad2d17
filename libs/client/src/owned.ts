import { MAX_LARGE_ANSWER_BYTES } from './answer-body.ts';
import { callJson } from './api.ts';
import type { Context, RequestOptions } from './context.ts';
import { count, oneOf, optional, type Reader, record, time, times } from './fields.ts';
import type { Kind } from './link.ts';
import { ownerToken } from './protection.ts';

/** What became of an upload or a note, for its owner. */
export type OwnStatus = {
  /** `blocked`: by the operator of the service; why, getNotice says. */
  state: 'available' | 'expired' | 'used-up' | 'blocked';
  /** ISO 8601. */
  createdAt: string;
  expiresAt: string;
  /** Downloads or views so far, and how many there may be. */
  usedCount: number;
  maxUses: number;
  /** ISO 8601, to the minute; empty where the service keeps no times. */
  usedAt: string[];
  /** Of an upload: downloads that arrived whole, as far as anybody could tell. */
  wholeCount?: number;
  /** Who is told of uses; absent where nobody can be. */
  hooks?: number;
};

/** Whom to tell of uses: a browser by its subscription to Web Push, an address by requests that are signed. `key` comes back with each. */
export type Hooks = {
  push?: { endpoint: string; keys: { p256dh: string; auth: string }; key: string };
  webhook?: { url: string; secret: string; key: string };
};

/** Seconds from now, 0 to end it at once; a number of uses that the service offers, or as many as there were. */
export type NewTerms = { expireSec?: number | undefined; maxUses?: number | undefined };

type Item = { kind: Kind; id: string };
export type Owner = RequestOptions & { ownerSecret: string };

type Common = Pick<OwnStatus, 'createdAt' | 'expiresAt' | 'usedAt' | 'hooks'> & {
  state: 'available' | 'expired' | 'limit_reached' | 'blocked';
};
const common = {
  state: oneOf('available', 'expired', 'limit_reached', 'blocked'),
  createdAt: time,
  expiresAt: time,
  usedAt: times,
  hooks: optional(count),
} as const;
const readUpload = record<Common & { downloadCount: number; maxDownloads: number; wholeCount?: number }>(
  { ...common, downloadCount: count, maxDownloads: count, wholeCount: optional(count) },
  ({ downloadCount, maxDownloads }) => downloadCount <= maxDownloads,
);
const readNote = record<Common & { viewCount: number; maxViews: number }>(
  { ...common, viewCount: count, maxViews: count },
  ({ viewCount, maxViews }) => viewCount <= maxViews,
);

const READ: Record<Kind, Reader<OwnStatus>> = {
  upload(value) {
    const { downloadCount, maxDownloads, ...rest } = readUpload(value);
    return own(rest, downloadCount, maxDownloads);
  },
  note(value) {
    const { viewCount, maxViews, ...rest } = readNote(value);
    return own(rest, viewCount, maxViews);
  },
};

function own({ state, ...rest }: Common, usedCount: number, maxUses: number): OwnStatus {
  return { ...rest, state: state === 'limit_reached' ? 'used-up' : state, usedCount, maxUses };
}

/** Contract: GET /api/own/upload/<id> and /api/own/note/<id>. */
export function getOwnStatus(context: Context, item: Item, owner: Owner): Promise<OwnStatus> {
  return ask(context, item, owner, '', { method: 'GET' });
}

/** Contract: POST /api/own/upload/<id>/terms and /api/own/note/<id>/terms. */
export function setTerms(context: Context, item: Item, owner: Owner, { expireSec, maxUses }: NewTerms) {
  const uses = item.kind === 'note' ? { maxViews: maxUses } : { maxDownloads: maxUses };
  return ask(context, item, owner, '/terms', { method: 'POST', body: JSON.stringify({ expireSec, ...uses }) });
}

/** Contract: POST and DELETE /api/own/upload/<id>/hooks and /api/own/note/<id>/hooks. */
export function setHooks(context: Context, item: Item, owner: Owner, hooks?: Hooks): Promise<OwnStatus> {
  return ask(
    context,
    item,
    owner,
    '/hooks',
    hooks ? { method: 'POST', body: JSON.stringify(hooks) } : { method: 'DELETE' },
  );
}

async function ask(
  { transport, baseUrl }: Context,
  { kind, id }: Item,
  { ownerSecret, signal }: Owner,
  path: string,
  request: { method: 'GET' | 'POST' | 'DELETE'; body?: string },
): Promise<OwnStatus> {
  const headers = { 'X-Owner-Token': await ownerToken(ownerSecret) };
  const url = `${baseUrl}/api/own/${kind}/${encodeURIComponent(id)}${path}`;
  return callJson(transport, url, { ...request, headers, read: READ[kind], maxBytes: MAX_LARGE_ANSWER_BYTES, signal });
}
