import { META } from '../support/api.ts';
import { requestBody } from '../support/requests.ts';
import { type Client, outcomeOf } from './calls.ts';
import { create, type Item, LIFE_SEC, newTokens } from './on-items.ts';

/** Longer than LIFE_SEC by so much that nobody takes one for the other. */
export const LONG_LIFE_SEC = 86_400;

/** Another limit, another end or both; or it ends now. */
export async function changeTerms(client: Client, { label, id, kind, ownerToken }: Item) {
  const { random } = client;
  const send = async (json: unknown) => {
    const what = { json, headers: { 'X-Owner-Token': ownerToken } };
    return { outcome: outcomeOf(await client.ask('POST', `/api/own/${kind}/${id}/terms`, what)) };
  };
  if (random.next() < 0.15) {
    await client.history.record({ kind: 'delete', item: label }, () => send({ expireSec: 0 }));
    return;
  }
  const limit = random.next() < 0.7 ? random.pick([1, 2, 3, 5]) : undefined;
  const lifeSec = limit === undefined || random.next() < 0.5 ? random.pick([LIFE_SEC, LONG_LIFE_SEC]) : undefined;
  const terms = { ...(limit && { limit }), ...(lifeSec && { lifeSec }) };
  await client.history.record({ kind: 'terms', item: label, ...terms }, () =>
    send({ expireSec: lifeSec, [kind === 'upload' ? 'maxDownloads' : 'maxViews']: limit }),
  );
}

export function createRequest(client: Client): Promise<Item | undefined> {
  const { random } = client;
  const tokens = newTokens(client);
  const limit = random.pick([1, 5]);
  const maxBytes = random.pick([50_000, 10_000_000]);
  const json = requestBody({ ownerToken: tokens.ownerToken, maxDrops: limit, maxBytes });
  const what = { limit, bytes: 0, digest: '', staysWhenUsed: true };
  return create(client, { kind: 'request', ...tokens }, what, async () => {
    const answer = await client.ask('POST', '/api/request', { json });
    return { outcome: outcomeOf(answer), answer };
  });
}

/** The upload gets its description first, unless it has one. What was dropped can be dropped again, which counts nothing. */
export async function drop(client: Client, request: Item, upload: Item) {
  await client.history.record({ kind: 'use', item: request.label, key: upload.label }, async () => {
    const headers = { 'X-Owner-Token': upload.ownerToken };
    await client.askAgain(3, 'POST', `/api/meta/${upload.id}`, { json: META, headers });
    const sealed = { enc: Buffer.alloc(1_121, 1).toString('base64'), sealed: Buffer.alloc(49, 2).toString('base64') };
    const json = { uploadId: upload.id, ...sealed };
    const { outcome } = await client.askAgain(3, 'POST', `/api/request/${request.id}/drop`, { json, headers });
    return { outcome };
  });
}
