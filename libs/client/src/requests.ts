import { MAX_LARGE_ANSWER_BYTES } from './answer-body.ts';
import { call, callJson } from './api.ts';
import { randomBytes, toBase64 } from './bytes.ts';
import type { Context, RequestOptions } from './context.ts';
import { type Drop, openDrop, readDrops, type StoredDrop } from './dropped.ts';
import { MayflyError } from './errors.ts';
import { count, id, oneOf, optional, record, time } from './fields.ts';
import { type Greeting, openGreeting, type StoredGreeting, sealGreeting } from './greeting.ts';
import { openSuite } from './hpke.ts';
import { SECRET_BYTES } from './keys.ts';
import type { Address } from './link.ts';
import type { Hooks } from './owned.ts';
import { deriveRequestKeys, type RequestKeys } from './request-keys.ts';
import { formatRequestLink, parseRequestLink, type RequestLink, requestAddress } from './request-link.ts';
import { type RequestTerms, termsFields } from './request-terms.ts';

export type NewRequest = Greeting &
  RequestOptions & {
    /** One of the service's `requests.dropOptions`. */
    maxDrops: number;
    /** Encrypted, of all drops together. */
    maxBytes: number;
    /** Of each drop: one of the service's `expireOptionsSec`, from when it is uploaded. */
    dropExpireSec: number;
    /** Of each drop: one of the service's `downloadOptions`. */
    dropMaxDownloads: number;
    /** One of the service's `requests.expireOptionsSec`. */
    expireSec: number;
  };

export type CreatedRequest = {
  id: string;
  /** ISO 8601. */
  expiresAt: string;
  /** For those who are asked. */
  dropLink: string;
  /** For whoever asks, alone: it opens everything that is dropped, and nothing else does. */
  keepLink: string;
};

/** What became of a file request, for its owner. */
export type RequestStatus = RequestTerms &
  Partial<Greeting> & {
    id: string;
    state: 'open' | 'full' | 'expired';
    dropLink: string;
    /** ISO 8601. */
    createdAt: string;
    /** Who is told of drops; absent where nobody can be. */
    hooks?: number;
    /** The oldest first. */
    drops: Drop[];
  };

const readCreated = record<{ id: string; url: Address; expiresAt: string }>({
  id,
  url: requestAddress,
  expiresAt: time,
});

/** Contract: POST /api/request. */
export async function createRequest(context: Context, { signal, ...request }: NewRequest): Promise<CreatedRequest> {
  const { title, text, ...limits } = request;
  const seed = randomBytes(SECRET_BYTES);
  const { publicKey, keyHash, ownerToken } = await deriveRequestKeys(await openSuite(), seed);
  const greeting = await sealGreeting(keyHash, { title, text });
  const body = JSON.stringify({ publicKey: toBase64(publicKey), ownerToken, ...limits, ...greeting });
  const { transport, baseUrl } = context;
  const ask = { method: 'POST', body, read: readCreated, signal } as const;
  // The service knows its public address, which may not be the one that is used here.
  const { id, url: address, expiresAt } = await callJson(transport, `${baseUrl}/api/request`, ask);
  const dropLink = formatRequestLink({ ...address, role: 'drop', keyHash });
  return { id, expiresAt, dropLink, keepLink: formatRequestLink({ ...address, role: 'keep', seed }) };
}

type Stored = Omit<RequestStatus, 'id' | 'title' | 'text' | 'dropLink' | 'drops'> &
  StoredGreeting & { drops: StoredDrop[] };

const readStored = record<Stored>({
  state: oneOf('open', 'full', 'expired'),
  createdAt: time,
  ...termsFields,
  hooks: optional(count),
  drops: readDrops,
});

/** Contract: GET /api/request/<id>/drops. */
export async function listDrops(
  { transport }: Context,
  link: string | RequestLink,
  { signal }: RequestOptions,
): Promise<RequestStatus> {
  const { baseUrl, id, keys, suite, headers } = await openOwn(link);
  const url = `${baseUrl}/api/request/${id}/drops`;
  const request = { method: 'GET', headers, read: readStored, maxBytes: MAX_LARGE_ANSWER_BYTES, signal } as const;
  const { greeting, nonce, drops, ...status } = await callJson(transport, url, request);
  return {
    ...status,
    ...(await openGreeting(keys.keyHash, { greeting, nonce })),
    id,
    dropLink: formatRequestLink({ baseUrl, id, role: 'drop', keyHash: keys.keyHash }),
    drops: await Promise.all(drops.map((drop) => openDrop(suite, keys, { baseUrl, id }, drop))),
  };
}

/** Contract: DELETE /api/request/<id>. What was dropped stays its senders'. */
export async function deleteRequest({ transport }: Context, link: string | RequestLink, { signal }: RequestOptions) {
  const { baseUrl, id, headers } = await openOwn(link);
  await call(transport, `${baseUrl}/api/request/${id}`, { method: 'DELETE', headers, signal });
}

/** Contract: POST and DELETE /api/own/request/<id>/hooks. */
export async function setRequestHooks(
  { transport }: Context,
  link: string | RequestLink,
  hooks: Hooks | undefined,
  { signal }: RequestOptions,
) {
  const { baseUrl, id, headers } = await openOwn(link);
  const url = `${baseUrl}/api/own/request/${id}/hooks`;
  const request = hooks ? ({ method: 'POST', body: JSON.stringify(hooks) } as const) : ({ method: 'DELETE' } as const);
  await call(transport, url, { ...request, headers, signal });
}

type Own = Pick<RequestLink, 'baseUrl' | 'id'> & {
  suite: Awaited<ReturnType<typeof openSuite>>;
  keys: RequestKeys;
  headers: Record<string, string>;
};

async function openOwn(link: string | RequestLink): Promise<Own> {
  const parsed = typeof link === 'string' ? parseRequestLink(link) : link;
  if (parsed.role !== 'keep') {
    throw new MayflyError('wrong-token', {
      message: 'This is the link to give away: only the link to keep opens what was dropped',
    });
  }
  const suite = await openSuite();
  const keys = await deriveRequestKeys(suite, parsed.seed);
  return { baseUrl: parsed.baseUrl, id: parsed.id, suite, keys, headers: { 'X-Owner-Token': keys.ownerToken } };
}
