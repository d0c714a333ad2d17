import { NoRoom, Unavailable } from '@mayfly/shared/errors';
import type { Notes } from '@mayfly/store/notes';
import { describe, expect, test } from 'vitest';
import { startNotes } from './start-notes.ts';

const ID = '3f2b8c1e-6a4d-4c7b-9e50-1d2a3b4c5d6e';
const TOKEN = 'A'.repeat(43);
const KEY = { 'idempotency-key': '"a key of its own"' };

/** A store none of whose functions works. */
function failing(error: Error): Notes {
  const fail = async () => {
    throw error;
  };
  return { add: fail, find: fail, claimSmallView: fail, claimView: fail, remove: fail, check: fail };
}

type Service = Awaited<ReturnType<typeof startNotes>>;
const EVERY_ENDPOINT: [string, (service: Service) => Promise<{ statusCode: number; body: string; headers: object }>][] =
  [
    ['POST /api/note', async (service) => (await service.add()).answer],
    ['GET /api/note/<id>', (service) => service.look(ID)],
    ['POST /api/note/<id>/view', (service) => service.view(ID, TOKEN)],
    ['POST /api/note/<id>/view with a key', (service) => service.view(ID, TOKEN, KEY)],
    ['POST /api/note/<id>/password', (service) => service.checkPassword(ID, TOKEN)],
    ['DELETE /api/note/<id>', (service) => service.remove(ID, TOKEN)],
    ['GET /readyz', (service) => service.app.inject({ url: '/readyz' })],
  ];

describe.each(EVERY_ENDPOINT)('%s', (_name, ask) => {
  test('503 with Retry-After when the store cannot be reached', async () => {
    await using service = await startNotes({ faults: failing(new Unavailable('PostgreSQL is not available')) });
    const { statusCode, body, headers } = await ask(service);
    expect([statusCode, JSON.parse(body)]).toEqual([503, { error: 'Service unavailable' }]);
    expect(headers).toMatchObject({ 'retry-after': '5', 'cache-control': 'no-store' });
  });

  test('500 that tells nothing when the store has a fault, and the log tells it', async () => {
    await using service = await startNotes({ faults: failing(new TypeError('relation notes.notes is broken')) });
    const { statusCode, body } = await ask(service);
    expect([statusCode, JSON.parse(body)]).toEqual([500, { error: 'Internal Server Error' }]);
    expect(service.logged()).toContain('relation notes.notes is broken');
    expect(service.logged()).not.toMatch(new RegExp(`${ID}|${TOKEN}`));
  });
});

test('a replica whose store is away is alive all the same', async () => {
  await using service = await startNotes({ faults: failing(new Unavailable('away')) });
  expect((await service.app.inject({ url: '/livez' })).statusCode).toBe(200);
});

describe('no room', () => {
  test('507 with its sentence when a note does not fit any more; what is there goes on', async () => {
    await using service = await startNotes({ maxBytes: 40 });
    const first = await service.add({ contentLength: 24 });
    const { answer } = await service.add({ contentLength: 24 });
    expect([answer.statusCode, answer.json()]).toEqual([507, { error: 'Not enough storage space for this note' }]);
    expect(answer.headers['retry-after']).toBe('60');
    expect((await service.view(first.id, first.authToken)).statusCode).toBe(200);
  });

  test('elsewhere a full disk is an outage like any other', async () => {
    await using service = await startNotes({ faults: { remove: failing(new NoRoom('disk full')).remove } });
    const { id, ownerToken } = await service.add();
    expect((await service.remove(id, ownerToken)).statusCode).toBe(503);
  });
});

describe('the answer of the store is lost after it has counted', () => {
  /** Its next claim of a view is made, and then the connection breaks. */
  async function startLossy() {
    const service = await startNotes({
      faults: {
        claimSmallView: async (...args) => lose(await service.held.claimSmallView(...args)),
        claimView: async (...args) => lose(await service.held.claimView(...args)),
      },
    });
    let isLost = false;
    const lose = <Claimed>(claimed: Claimed): Claimed => {
      if (claimed === undefined || isLost) return claimed;
      isLost = true;
      throw new Unavailable('the connection broke');
    };
    return service;
  }

  test('without a key the last view is gone: 503, then 410', async () => {
    await using service = await startLossy();
    const { id, authToken } = await service.add();
    expect((await service.view(id, authToken)).statusCode).toBe(503);
    const { statusCode, body } = await service.view(id, authToken);
    expect([statusCode, JSON.parse(body)]).toEqual([410, { error: 'View limit reached' }]);
  });

  test('with a key the same request gets the content, counted once, and nobody else does', async () => {
    await using service = await startLossy();
    const { id, authToken, encryptedContent } = await service.add();
    expect((await service.view(id, authToken, KEY)).statusCode).toBe(503);
    const again = await service.view(id, authToken, KEY);
    expect([again.statusCode, again.json()]).toEqual([
      200,
      { encryptedContent, nonce: 'A'.repeat(16), viewCount: 1, maxViews: 1 },
    ]);
    expect((await service.view(id, authToken, { 'idempotency-key': '"another key, not it"' })).statusCode).toBe(410);
    expect((await service.view(id, TOKEN, KEY)).statusCode).toBe(410);
    await service.pass(121);
    expect((await service.view(id, authToken, KEY)).statusCode).toBe(410);
  });
});
