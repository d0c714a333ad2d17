import { noteBody, uploadHeaders } from '../support/api.ts';
import { type Answer, bodyOf, type Client, digestOf, outcomeOf, received } from './calls.ts';
import type { Begun, End } from './checker.ts';

export type Item = {
  label: string;
  id: string;
  kind: 'upload' | 'note' | 'request';
  authToken: string;
  ownerToken: string;
};

const NOT_SO_LONG = 416;
export const LIFE_SEC = 3_600;
const LIMITS = [1, 2, 3];

export const newTokens = ({ random }: Client) => ({ authToken: random.token(), ownerToken: random.token() });

/** Resolves with the item if it was made. */
export async function create(
  { history }: Client,
  { kind, ...tokens }: Pick<Item, 'kind' | 'authToken' | 'ownerToken'>,
  what: Omit<Extract<Begun, { kind: 'create' }>, 'kind' | 'item'>,
  send: (label: string) => Promise<End & { answer?: Answer | undefined }>,
): Promise<Item | undefined> {
  const label = history.label(kind, tokens.ownerToken);
  let made: Item | undefined;
  await history.record({ kind: 'create', item: label, ...what }, async () => {
    const { answer, ...end } = await send(label);
    if (!answer || end.outcome !== 'succeeded') return end;
    made = { ...tokens, label, kind, id: bodyOf(answer).id };
    history.ids.set(made.id, label);
    return end;
  });
  return made;
}

export function createUpload(client: Client): Promise<Item | undefined> {
  const { random } = client;
  const tokens = newTokens(client);
  const body = random.bytes(random.between(1, random.pick([1_000, 70_000, 400_000])));
  const limit = random.pick(LIMITS);
  const headers = uploadHeaders(tokens, { 'X-Max-Downloads': String(limit), 'X-Expire-Sec': String(LIFE_SEC) });
  const what = { limit, lifeSec: LIFE_SEC, bytes: body.length, digest: digestOf(body) };
  return create(client, { kind: 'upload', ...tokens }, what, async () => {
    const answer = await client.ask('POST', '/api/upload', { body, headers });
    return { outcome: outcomeOf(answer), answer };
  });
}

export function createNote(client: Client): Promise<Item | undefined> {
  const { random } = client;
  const tokens = newTokens(client);
  const limit = random.pick(LIMITS);
  const encryptedContent = random.bytes(random.between(17, random.pick([200, 40_000]))).toString('base64');
  const json = noteBody({ ...tokens, maxViews: limit, expireSec: LIFE_SEC, encryptedContent });
  const what = { limit, lifeSec: LIFE_SEC, bytes: encryptedContent.length, digest: digestOf(encryptedContent) };
  return create(client, { kind: 'note', ...tokens }, what, async () => {
    const answer = await client.ask('POST', '/api/note', { json });
    return { outcome: outcomeOf(answer), answer };
  });
}

export async function download(client: Client, { label, id, authToken }: Item) {
  const headers = { 'X-Auth-Token': authToken };
  await client.history.record({ kind: 'use', item: label, key: client.random.token() }, async () =>
    received(await client.ask('GET', `/api/download/${id}`, { headers })),
  );
}

/** In two ranges; each is asked for again until it has come. What has not all come was perhaps a use. */
export async function readUnderLease(client: Client, { label, id, authToken }: Item) {
  const lease = client.random.token();
  const headers = { 'X-Auth-Token': authToken, 'X-Download-Lease': lease };
  await client.history.record({ kind: 'use', item: label, key: lease }, async () => {
    for (let tries = 0; tries < 3; tries += 1) {
      const read = (Range: string) => client.ask('GET', `/api/lease/${id}`, { headers: { ...headers, Range } });
      const first = await read('bytes=0-99');
      if (outcomeOf(first) === 'failed') return { outcome: tries === 0 ? 'failed' : 'unknown' };
      const rest = await read('bytes=100-');
      if (first?.status !== 206 || (rest?.status !== 206 && rest?.status !== NOT_SO_LONG)) continue;
      const bytes = rest.status === NOT_SO_LONG ? [first.bytes] : [first.bytes, rest.bytes];
      return { outcome: 'succeeded', digest: digestOf(Buffer.concat(bytes)) };
    }
    return { outcome: 'unknown' };
  });
}

/** Half of them can be repeated, and are when there was no answer. */
export async function view(client: Client, { label, id, authToken }: Item) {
  const key = client.random.token();
  const isRepeatable = client.random.next() < 0.5;
  await client.history.record({ kind: 'use', item: label, key }, async () => {
    const what = { json: { authToken }, headers: isRepeatable ? { 'Idempotency-Key': key } : {} };
    const { outcome, answer } = await client.askAgain(isRepeatable ? 3 : 1, 'POST', `/api/note/${id}/view`, what);
    return answer && outcome === 'succeeded'
      ? { outcome, digest: digestOf(bodyOf(answer).encryptedContent) }
      : { outcome };
  });
}

export async function remove(client: Client, { label, id, kind, ownerToken }: Item) {
  await client.history.record({ kind: 'delete', item: label }, async () => {
    const headers = { 'X-Owner-Token': ownerToken };
    return { outcome: outcomeOf(await client.ask('DELETE', `/api/${kind}/${id}`, { headers })) };
  });
}
