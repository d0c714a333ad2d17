import { createHash } from 'node:crypto';
import { META, uploadHeaders } from '../support/api.ts';
import { bodyOf, type Client, digestOf, outcomeOf } from './calls.ts';
import type { End } from './checker.ts';
import { create, type Item, LIFE_SEC, newTokens } from './on-items.ts';

const TRIES = 6;
const COMPLETING = 202;

/** Each part is sent until it is taken, in any order, some of them twice; then it is completed, or given up, or left alone. */
export function sendInParts(client: Client, partBytes: number): Promise<Item | undefined> {
  const { random } = client;
  const tokens = newTokens(client);
  const payload = Buffer.concat(
    Array.from({ length: random.between(0, 2) }, () => Buffer.alloc(partBytes, random.bytes(1_000))),
  );
  const body = Buffer.concat([payload, random.bytes(random.between(1, 5_000))]);
  const what = { limit: 2, lifeSec: LIFE_SEC, bytes: body.length, digest: digestOf(body) };
  return create(client, { kind: 'upload', ...tokens }, what, async (label) => {
    const headers = { 'X-Owner-Token': tokens.ownerToken };
    const id = await begin(client, uploadHeaders(tokens, lengths(client, body.length, partBytes)));
    if (id) client.history.ids.set(id, label);
    if (!id || !(await sendParts(client, id, headers, body, partBytes))) return { outcome: 'failed' };
    const choice = random.next();
    if (choice < 0.1) return { outcome: 'failed' }; // left alone
    if (choice < 0.25) {
      await client.ask('DELETE', `/api/parts/${id}`, { headers });
      return { outcome: 'failed' }; // whatever the answer: nobody has asked to complete it
    }
    return complete(client, id, headers, body.length);
  });
}

function lengths({ random }: Client, length: number, partBytes: number): Record<string, string> {
  const name = random.next() < 0.5 ? 'X-Upload-Length' : 'X-Upload-Length-Max';
  return { [name]: String(length), 'X-Part-Bytes': String(partBytes), 'X-Max-Downloads': '2' };
}

/** Without an answer nobody knows its id. */
async function begin(client: Client, headers: Record<string, string>): Promise<string | undefined> {
  const answer = await client.ask('POST', '/api/parts', { headers });
  return answer && outcomeOf(answer) === 'succeeded' ? bodyOf(answer).id : undefined;
}

/** False when one was not taken. */
async function sendParts(
  client: Client,
  id: string,
  owner: Record<string, string>,
  payload: Buffer,
  partBytes: number,
) {
  const { random } = client;
  const numbers = Array.from({ length: Math.ceil(payload.length / partBytes) }, (_, index) => index + 1);
  if (random.next() < 0.5) numbers.reverse();
  if (random.next() < 0.3) numbers.push(random.pick(numbers));
  const hasDigests = random.next() < 0.5;
  for (const number of numbers) {
    const body = Buffer.from(payload.subarray((number - 1) * partBytes, number * partBytes));
    const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
    const headers = { ...owner, ...(hasDigests && { 'Content-Digest': digest }) };
    const { answer } = await client.askAgain(TRIES, 'POST', `/api/parts/${id}/${number}`, { body, headers });
    if (outcomeOf(answer) !== 'succeeded') return false;
  }
  return true;
}

/** Every part was acknowledged: whoever says now that it cannot be completed has forgotten something. */
async function complete(client: Client, id: string, headers: Record<string, string>, length: number) {
  const json = { length, ...META };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await client.ask('POST', `/api/parts/${id}/complete`, { json, headers });
    if (answer && answer.status >= 400 && answer.status < 500 && outcomeOf(answer) === 'failed')
      return { outcome: 'unknown', isForgotten: true } satisfies End;
    if (outcomeOf(answer) === 'succeeded' && answer?.status !== COMPLETING)
      return { outcome: 'succeeded' as const, answer };
    await client.history.pause();
  }
  return { outcome: 'unknown' as const };
}
