import type { IncomingMessage, ServerResponse } from 'node:http';
import { CONFIG, NOTE_INFO } from '@mayfly/testing/good-answers';
import { serve } from '@mayfly/testing/listen';
import { describe, expect, test } from 'vitest';
import { fetchTransport, MayflyClient, parseLink } from '../src/index.ts';
import { nodeTransport } from '../src/node/index.ts';

const INFO = NOTE_INFO;

type Answer = (response: ServerResponse) => void;

const breaksOff: Answer = (response) => void response.destroy();
const status =
  (code: number, headers = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end('{"error":"not now"}');

/** A service with one note, whose views are answered as a test says, one after the other; the last of these again and again. */
async function serveNote(views: Answer[], config: object | 'away' = { ...CONFIG, viewRepeatSec: 120 }) {
  const keys: unknown[] = [];
  let sealed = '';
  const server = await serve(async (request, response) => {
    const body = await text(request);
    if (request.url === '/api/config') {
      return config === 'away' ? response.destroy() : response.end(JSON.stringify(config));
    }
    if (request.url === '/api/note') {
      sealed = body;
      return response.writeHead(201).end(JSON.stringify({ id: INFO.id, expiresAt: INFO.expiresAt }));
    }
    if (!request.url?.endsWith('/view')) return response.end(JSON.stringify({ ...INFO, ...JSON.parse(sealed) }));
    keys.push(request.headers['idempotency-key']);
    const answer = views.length > 1 ? views.shift() : views[0];
    if (answer) return answer(response);
    response.end(JSON.stringify({ ...JSON.parse(sealed), viewCount: 1, maxViews: 1 }));
  });
  return { ...server, keys };
}

async function text(request: IncomingMessage): Promise<string> {
  let all = '';
  for await (const chunk of request) all += chunk;
  return all;
}

/** The note itself. */
const delivers = undefined as unknown as Answer;
/** The note, up to its middle. */
const breaksInTheMiddle: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' }).write('{"encryptedContent":', () => response.destroy());
};

describe.each([
  ['node', nodeTransport],
  ['fetch', fetchTransport],
] as const)('a view through the %s transport', (_, buildTransport) => {
  async function open(service: Awaited<ReturnType<typeof serveNote>>) {
    const client = new MayflyClient({ baseUrl: service.url, transport: buildTransport() });
    return { client, link: (await client.createNote('delivered', { expireSec: 60, maxViews: 1 })).link };
  }

  test.each([
    ['breaks before the answer', breaksOff],
    ['breaks in the middle of the answer', breaksInTheMiddle],
    ['finds the service busy', status(429, { 'retry-after': '1' })],
    ['finds no service', status(503)],
  ])('that %s is repeated under its key', async (_, lost) => {
    await using service = await serveNote([lost, delivers]);
    const { client, link } = await open(service);
    let repeats = 0;
    const note = await client.viewNote(link, { onRepeat: () => (repeats += 1) });
    expect(note.text).toBe('delivered');
    expect(service.keys).toHaveLength(2);
    expect(new Set(service.keys).size).toBe(1);
    expect(service.keys[0]).toMatch(/^"[\w-]{36}"$/);
    expect(repeats).toBe(1);
  });

  test('that cannot be repeated is tried once, and nothing is claimed', async () => {
    await using service = await serveNote([breaksOff], {});
    const { client, link } = await open(service);
    const viewing = client.viewNote(link);
    await expect(viewing).rejects.toMatchObject({ code: 'unconfirmed', repeatForSec: 0 });
    expect(service.keys).toHaveLength(1);
  });

  test('that is given up says for how long it can be repeated, and the same key goes on', async () => {
    await using service = await serveNote([breaksOff, status(503), delivers]);
    const { client, link } = await open(service);
    const idempotencyKey = 'a key of "my" own';
    const first = client.viewNote(link, { idempotencyKey, patienceSec: 2 });
    const failure = await first.catch((error) => error);
    expect(failure).toMatchObject({ code: 'unconfirmed', status: 503 });
    expect(failure.repeatForSec).toBeGreaterThan(100);
    // The service says that there is no such note any more: what it has said before does.
    const again = { idempotencyKey, info: await client.getNote(link), isRepeat: true };
    expect((await client.viewNote(await parseLink(link), again)).text).toBe('delivered');
    expect(new Set(service.keys)).toEqual(new Set(['"a key of \\"my\\" own"']));
  });
});

test('a view is not repeated by a client that was told to wait too long, or that was refused', async () => {
  for (const [answer, code] of [
    [status(429, { 'retry-after': '900' }), 'rate-limited'],
    [status(500), 'unavailable'],
    [status(410), 'expired'],
  ] as const) {
    await using service = await serveNote([answer]);
    const client = new MayflyClient({ baseUrl: service.url });
    const { link } = await client.createNote('x', { expireSec: 60, maxViews: 1 });
    await expect(client.viewNote(link)).rejects.toMatchObject({ code });
    expect(service.keys).toHaveLength(1);
  }
});

test('a service that cannot say whether it repeats gets no second view', async () => {
  await using service = await serveNote([breaksOff], 'away');
  const client = new MayflyClient({ baseUrl: service.url });
  const { link } = await client.createNote('x', { expireSec: 60, maxViews: 1 });
  const viewing = client.viewNote(link, { patienceSec: 2 });
  await expect(viewing).rejects.toMatchObject({ code: 'unconfirmed', repeatForSec: undefined });
  expect(service.keys).toHaveLength(1);
});

test('a view ends when it is stopped between two tries', async () => {
  await using service = await serveNote([breaksOff]);
  const client = new MayflyClient({ baseUrl: service.url });
  const { link } = await client.createNote('x', { expireSec: 60, maxViews: 1 });
  const controller = new AbortController();
  const viewing = client.viewNote(link, { signal: controller.signal, onRepeat: () => controller.abort() });
  await expect(viewing).rejects.toMatchObject({ code: 'aborted' });
});
