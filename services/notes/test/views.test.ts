import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Note } from '@mayfly/store/notes';
import { describe, expect, test } from 'vitest';
import { largeViews } from '../src/large-views.ts';
import { PASSWORD, startNotes } from './start-notes.ts';

const OTHER = 'B'.repeat(43);

describe('refusals come in the order of the contract, and count nothing', () => {
  test('a wrong token never gets to the store’s count', async () => {
    const claimed: string[] = [];
    await using service = await startNotes({
      faults: {
        claimView: async (id) => {
          claimed.push(id);
          return undefined;
        },
      },
    });
    const { id, ownerToken } = await service.add({ maxViews: 2 });
    for (const wrong of [OTHER, ownerToken]) {
      const answer = await service.view(id, wrong);
      expect([answer.statusCode, answer.json()]).toEqual([401, { error: 'Invalid auth token' }]);
    }
    expect(claimed).toEqual([]);
    expect((await service.look(id)).json().viewCount).toBe(0);
  });

  test.each([
    ['expired', 'Note has expired'],
    ['limit_reached', 'View limit reached'],
  ])('410 before 401: %s', async (how, error) => {
    await using service = await startNotes();
    const { id, authToken, ownerToken } = await service.add(PASSWORD);
    if (how === 'expired') await service.pass(60);
    else await service.view(id, authToken);
    const answers = [await service.view(id, OTHER), await service.checkPassword(id, OTHER), await service.look(id)];
    for (const answer of answers) expect([answer.statusCode, answer.json()]).toEqual([410, { error }]);
    expect((await service.remove(id, OTHER)).statusCode).toBe(401);
    expect((await service.remove(id, ownerToken)).statusCode).toBe(200);
    expect((await service.view(id, authToken)).statusCode).toBe(404);
  });

  test('that no password protects a note is said in every state', async () => {
    await using service = await startNotes();
    const { id, authToken } = await service.add();
    const refused = [400, { error: 'Note is not password-protected' }];
    const check = async () => {
      const answer = await service.checkPassword(id, authToken);
      return [answer.statusCode, answer.json()];
    };
    expect(await check()).toEqual(refused);
    await service.view(id, authToken);
    expect(await check()).toEqual(refused);
  });
});

describe('somebody else was quicker, between the look at a note and what is done with it', () => {
  test.each<[string, Partial<Note> | undefined, number, string]>([
    ['the last view was taken', { status: 'limit_reached' }, 410, 'View limit reached'],
    ['its time came', { status: 'expired' }, 410, 'Note has expired'],
    ['its view was given to another, and it is there still', {}, 410, 'View limit reached'],
    ['its owner deleted it', undefined, 404, 'Note not found'],
  ])('%s: the answer to a view says so', async (_what, change, status, error) => {
    let isClaimed = false;
    await using service = await startNotes({
      faults: {
        find: async (id) => {
          const found = await service.held.find(id);
          if (!isClaimed || !found) return found;
          return change && ({ ...found, ...change } as Note); // the states have different fields, and only the state is read
        },
        claimSmallView: async () => undefined,
        claimView: async () => {
          isClaimed = true;
          return undefined;
        },
      },
    });
    const { id, authToken } = await service.add();
    const answer = await service.view(id, authToken);
    expect([answer.statusCode, answer.json()]).toEqual([status, { error }]);
  });

  test('of two deletes one finds nothing to delete: 404', async () => {
    await using service = await startNotes({ faults: { remove: async () => false } });
    const { id, ownerToken } = await service.add();
    const answer = await service.remove(id, ownerToken);
    expect([answer.statusCode, answer.json()]).toEqual([404, { error: 'Note not found' }]);
  });
});

describe('large contents', () => {
  const LARGE = 6 * 1024 * 1024; // two go at once, a third would be over 16 MiB

  /** A service whose claims of large notes wait until a test lets them go. */
  async function startHeld(viewPatience = { turnMs: 10_000, placeMs: 10_000 }) {
    const claims: (() => void)[] = [];
    const large = new Set<string>();
    let [looks, counted] = [0, 0];
    const service = await startNotes({
      viewPatience,
      faults: {
        async find(id) {
          looks += 1;
          return service.held.find(id);
        },
        async claimView(...given) {
          if (large.has(given[0])) {
            counted += 1;
            await new Promise<void>((resolve) => claims.push(resolve));
          }
          return service.held.claimView(...given);
        },
      },
    });
    const addLarge = async () => {
      const note = await service.add({ contentLength: LARGE, maxViews: 5 });
      large.add(note.id);
      return note;
    };
    const underWay = (count: number) => expect.poll(() => counted).toBe(count);
    const looked = (count: number) => expect.poll(() => looks).toBe(count);
    const letOneGo = async () => {
      await expect.poll(() => claims.length).toBeGreaterThan(0);
      claims.shift()?.();
    };
    return { service, addLarge, underWay, looked, counted: () => counted, letOneGo };
  }

  test('wait for their turn: as many at once as fit, the next when one was sent; small ones do not wait', async () => {
    const { service, addLarge, underWay, counted, letOneGo } = await startHeld();
    await using _ = service;
    const { id, authToken } = await addLarge();
    const views = [1, 2, 3].map(() => service.view(id, authToken));
    await underWay(2);
    const small = await service.add();
    const key = { 'idempotency-key': '"so that it is looked at"' };
    expect((await service.view(small.id, small.authToken, key)).statusCode).toBe(200);
    expect(counted()).toBe(2);
    await letOneGo();
    await underWay(3);
    await letOneGo();
    await letOneGo();
    const answers = await Promise.all(views);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    expect(answers.map((answer) => answer.json().viewCount).sort()).toEqual([1, 2, 3]);
  });

  test('one alone goes, however large it is', async () => {
    await using service = await startNotes();
    const { id, authToken, encryptedContent } = await service.add({ contentLength: 20 * 1024 * 1024 });
    const answer = await service.view(id, authToken);
    expect([answer.statusCode, answer.json().encryptedContent === encryptedContent]).toEqual([200, true]);
  });

  test('503 when it was not their turn in time, and nothing is counted', async () => {
    const { service, addLarge, underWay, counted, letOneGo } = await startHeld({ turnMs: 50, placeMs: 10_000 });
    await using _ = service;
    const { id, authToken } = await addLarge();
    const views = [service.view(id, authToken), service.view(id, authToken)];
    await underWay(2);
    const late = await service.view(id, authToken);
    expect([late.statusCode, late.json()]).toEqual([503, { error: 'Service unavailable' }]);
    expect(counted()).toBe(2);
    await letOneGo();
    await letOneGo();
    expect((await Promise.all(views)).map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect((await service.look(id)).json().viewCount).toBe(2);
  });

  test('a place is given on when its time is over, whoever still reads', async () => {
    const { service, addLarge, underWay, letOneGo } = await startHeld({ turnMs: 10_000, placeMs: 50 });
    await using _ = service;
    const { id, authToken } = await addLarge();
    const views = [1, 2, 3, 4].map(() => service.view(id, authToken));
    await underWay(4); // though none of them was answered
    for (const __ of views) await letOneGo();
    expect((await Promise.all(views)).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  });

  test('a client that has gone takes no place', async () => {
    const gone = { destroyed: true } as ServerResponse; // nothing of it is heard any more
    await expect(largeViews()(1_000_000, gone)).rejects.toMatchObject({ statusCode: 503 });
  });

  test('a client that goes leaves its place in the queue, and is not counted', async () => {
    const { service, addLarge, underWay, looked, counted, letOneGo } = await startHeld();
    await using _ = service;
    const { id, authToken } = await addLarge();
    const views = [service.view(id, authToken), service.view(id, authToken)];
    await underWay(2);
    const url = `${await service.app.listen({ port: 0, host: '127.0.0.1' })}/api/note/${id}/view`;
    const headers = { 'content-type': 'application/json' };
    const gone = Promise.withResolvers<void>();
    service.app.server.once('connection', (socket) => socket.once('close', gone.resolve));
    const leaving = new AbortController();
    const left = fetch(url, { method: 'POST', headers, body: JSON.stringify({ authToken }), signal: leaving.signal });
    left.catch(() => {}); // it is expected below
    await looked(3);
    leaving.abort();
    await expect(left).rejects.toThrow();
    await gone.promise;
    await letOneGo();
    await letOneGo();
    await Promise.all(views);
    await sleep(50);
    expect(counted()).toBe(2);
  });
});
