import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Unavailable } from '@mayfly/shared/errors';
import { freshDatabase } from '@mayfly/testing/stores';
import pg from 'pg';
import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { batched } from '../src/postgres/batched.ts';
import { openDatabase } from '../src/postgres/database.ts';
import { postgresDownloadLeases } from '../src/postgres/download-leases.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';
import { newItem } from './new-items.ts';

// Calls that come at once share statements. Nobody may notice.

/** What pg throws when the server answers with an error. */
function refusal(code: string, severity = 'ERROR') {
  const error = new pg.DatabaseError('refused', 0, 'error');
  return Object.assign(error, { code, severity });
}

describe('batched', () => {
  test('calls of one turn are one run, and each gets its own answer', async () => {
    const runs: (readonly number[])[] = [];
    const double = batched(async (numbers: readonly number[]) => {
      runs.push(numbers);
      return numbers.map((number) => number * 2);
    });
    expect(await Promise.all([1, 2, 2, 3].map(double))).toEqual([2, 4, 4, 6]);
    expect(await double(5)).toBe(10);
    expect(runs).toEqual([[1, 2, 2, 3], [5]]);
  });

  test('while two runs are under way, calls gather for the next', async () => {
    const runs: number[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = batched(async (calls: readonly number[]) => {
      runs.push(calls.length);
      await promise;
      return [...calls];
    });
    const calls: Promise<number>[] = [];
    for (let call = 0; call < 20; call++) {
      calls.push(wait(call));
      await nextTurn();
    }
    expect(runs).toEqual([1, 1]);
    resolve();
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 20 }, (_, call) => call));
    expect(runs).toEqual([1, 1, 18]);
  });

  test('when the server has undone a run, its calls are tried one by one, and only those at fault fail', async () => {
    const runs: number[] = [];
    const ask = batched(async (calls: readonly number[]) => {
      runs.push(calls.length);
      if (calls.includes(3)) throw refusal('22003');
      return [...calls];
    });
    const answers = await Promise.allSettled([1, 2, 3, 4].map(ask));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(runs).toEqual([4, 1, 1, 1, 1]);
  });

  test.each([
    ['nobody knows what became of it', new Unavailable('away', { cause: new Error('Query read timeout') })],
    [
      'the connection broke',
      new Unavailable('away', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }),
    ],
    ['the server is going away', new Unavailable('away', { cause: refusal('57P01', 'FATAL') })],
    ['the disk is full', new Unavailable('away', { cause: refusal('53100') })],
  ])('no call is tried again when %s', async (_, error) => {
    let runs = 0;
    const ask = batched(async (): Promise<number[]> => {
      runs += 1;
      throw error;
    });
    const answers = await Promise.allSettled([1, 2, 3].map(ask));
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(runs).toBe(1);
  });

  test('a run that fails fails its own calls and no others', async () => {
    let isAway = true;
    const ask = batched(async (calls: readonly number[]) => {
      if (isAway) throw new Error('away');
      return [...calls];
    });
    const answers = await Promise.allSettled([ask(1), ask(2)]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isAway = false;
    expect(await Promise.all(Array.from({ length: 500 }, (_, call) => ask(call)))).toHaveLength(500);
  });
});

const logger = pino({ level: 'silent' });

type Replica = ReturnType<typeof open>;

function open(url: string) {
  const db = openDatabase({ DATABASE_URL: url, DATABASE_POOL_SIZE: 5 }, logger);
  return { db, notes: postgresNotes(db), uploads: postgresUploads(db), leases: postgresDownloadLeases(db) };
}

describe('two replicas on one PostgreSQL', () => {
  const [most, items, claimsOfEach] = [3, 40, 4];
  let one: Replica;
  let other: Replica;
  beforeAll(async () => {
    const database = await freshDatabase({ hasTables: true });
    [one, other] = [open(database.url), open(database.url)];
    return async () => {
      await Promise.all([one.db.destroy(), other.db.destroy()]);
      await database[Symbol.asyncDispose]();
    };
  });

  /** Every replica claims every item several times, in an order of its own, all at once. */
  const claims = (ids: string[]) =>
    [one, other].flatMap((replica) => {
      const order = replica === one ? ids : ids.toReversed();
      return Array.from({ length: claimsOfEach }, () => order)
        .flat()
        .map((id) => ({ replica, id }));
    });

  const hashOf = (notes: { id: string; authHash: Buffer }[], wanted: string) =>
    notes.find(({ id }) => id === wanted)?.authHash ?? Buffer.alloc(0);

  async function addNotes() {
    const notes = Array.from({ length: items }, () => ({
      ...newItem(),
      contentType: 'text' as const,
      encryptedContent: randomBytes(200).toString('base64'),
      nonce: randomBytes(12).toString('base64'),
      maxViews: most,
    }));
    await Promise.all(notes.map((note) => one.notes.add(note)));
    return notes;
  }

  test('of all views of many notes exactly 1..N succeed for each, with its content', async () => {
    const notes = await addNotes();
    const asked = claims(notes.map(({ id }) => id));
    const views = await Promise.all(
      asked.map(({ replica, id }) => replica.notes.claimSmallView(id, hashOf(notes, id))),
    );
    for (const { id, encryptedContent, nonce } of notes) {
      const granted = views.filter((view, index) => view && asked[index]?.id === id);
      expect(granted.map((view) => view?.viewCount).sort()).toEqual([1, 2, 3]);
      for (const view of granted) expect(view).toMatchObject({ encryptedContent, nonce, maxViews: most });
      expect(await other.notes.find(id)).toMatchObject({ status: 'limit_reached' });
    }
  });

  test('of all views with keys each key counts once, and is told the same on both replicas', async () => {
    const notes = await addNotes();
    // One key more than there are views, and one claim without a key.
    const keys = Array.from({ length: most }, () => ({ keyHash: randomBytes(32), forSec: 60 }));
    const asked = claims(notes.map(({ id }) => id)).flatMap((claim) => keys.map((key) => ({ ...claim, key })));
    const [views, unkeyed] = await Promise.all([
      Promise.all(asked.map(({ replica, id, key }) => replica.notes.claimSmallView(id, hashOf(notes, id), key))),
      Promise.all(notes.map(({ id }) => other.notes.claimView(id))),
    ]);
    for (const [at, { id, encryptedContent, nonce }] of notes.entries()) {
      const counts = keys.map((key) => {
        const answers = asked.flatMap((claim, i) => (claim.id === id && claim.key === key ? [views[i]] : []));
        expect(answers).toHaveLength(2 * claimsOfEach);
        for (const view of answers) if (view) expect(view).toMatchObject({ encryptedContent, nonce, maxViews: most });
        expect(answers.filter((view) => view?.isRepeat === false).length).toBe(answers[0] ? 1 : 0);
        expect(new Set(answers.map((view) => view?.viewCount)).size).toBe(1);
        return answers[0]?.viewCount;
      });
      const all = [...counts, unkeyed[at]?.viewCount].filter((count) => count !== undefined);
      expect(all.sort()).toEqual([1, 2, 3]);
    }
  });

  async function addUploads() {
    const uploads = Array.from({ length: items }, () => ({
      ...newItem(),
      sizeBytes: 100,
      fileCount: 1,
      maxDownloads: most,
    }));
    await Promise.all(uploads.map((upload) => one.uploads.begin(upload, 60)));
    expect(await Promise.all(uploads.map(({ id }) => other.uploads.publish(id)))).toEqual(uploads.map(() => true));
    return uploads;
  }

  test('of all leases and plain downloads of many uploads exactly 1..N count for each, whoever asks twice for a lease', async () => {
    const uploads = await addUploads();
    const budget = { budgetBytes: 10_000, cuts: 9, ranges: 50, lostBytes: 0, forgivenBytes: 0 };
    const terms = { idleSec: 60, longestSec: 600, ...budget };
    const names = uploads.flatMap(({ id }) => [1, 2].map(() => ({ id, tokenHash: randomBytes(32) })));
    const asked = [one, other].flatMap((replica) =>
      (replica === one ? names : names.toReversed()).flatMap((key) => [1, 2].map(() => ({ replica, key }))),
    );
    const [taken, claimed] = await Promise.all([
      Promise.all(asked.map(({ replica, key }) => replica.leases.take(key, { first: 0, last: 9 }, terms))),
      Promise.all(
        claims(uploads.map(({ id }) => id)).map(async ({ replica, id }) => ({
          id,
          count: await replica.uploads.claimDownload(id, 60),
        })),
      ),
    ]);
    for (const { id } of uploads) {
      const counts = claimed.filter((one) => one.id === id && one.count > 0).map(({ count }) => count);
      for (const name of names.filter((one) => one.id === id)) {
        const answers = taken.filter((_, index) => asked[index]?.key === name);
        const opened = answers.filter((one) => typeof one === 'object').map(({ count }) => count);
        expect(opened.length).toBe(answers[0] === 'gone' ? 0 : 4); // all of them, or none
        counts.push(...opened.filter((count) => count !== undefined));
      }
      expect(counts.sort()).toEqual([1, 2, 3]);
      expect(await one.uploads.find(id)).toMatchObject({ status: 'limit_reached' });
    }
  });

  test('of all downloads of many uploads exactly 1..N succeed for each', async () => {
    const uploads = await addUploads();
    const asked = claims(uploads.map(({ id }) => id));
    const counts = await Promise.all(asked.map(({ replica, id }) => replica.uploads.claimDownload(id, 60)));
    for (const { id } of uploads) {
      const ofOne = counts.filter((_, index) => asked[index]?.id === id);
      expect(ofOne.filter((count) => count > 0).sort()).toEqual([1, 2, 3]);
      expect(ofOne.filter((count) => count === 0)).toHaveLength(2 * claimsOfEach - most);
    }
  });

  test.each([
    ['without', false],
    ['with', true],
  ])('views of large notes, %s keys, do not keep that of a small one waiting', async (_, hasKeys) => {
    const note = (length: number) => ({
      ...newItem(),
      contentType: 'text' as const,
      encryptedContent: 'A'.repeat(length),
      nonce: randomBytes(12).toString('base64'),
      maxViews: 10,
    });
    const [large, small] = [Array.from({ length: 60 }, () => note(400_000)), note(100)];
    await Promise.all([...large, small].map((each) => one.notes.add(each)));
    const repeat = () => (hasKeys ? { keyHash: randomBytes(32), forSec: 60 } : undefined);
    let viewed = 0;
    const all = large.map(async ({ id, encryptedContent }) => {
      expect((await one.notes.claimView(id, repeat()))?.encryptedContent).toBe(encryptedContent);
      viewed++;
    });
    expect(await one.notes.claimSmallView(small.id, small.authHash, repeat())).toMatchObject({ viewCount: 1 });
    expect(viewed).toBeLessThan(30);
    await Promise.all(all);
  });

  test('a note that cannot be added keeps none from being added with it', async () => {
    const note = () => ({
      ...newItem(),
      contentType: 'text' as const,
      encryptedContent: 'AAAA',
      nonce: randomBytes(12).toString('base64'),
      maxViews: 1,
    });
    const taken = note();
    await one.notes.add(taken);
    const answers = await Promise.allSettled([note(), taken, note(), note()].map((each) => one.notes.add(each)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  });

  test('small and large notes that are added at once are all there', async () => {
    const lengths = [1, 16 * 1024 - 4, 16 * 1024 + 4, 1_000_000, 12, 12];
    const notes = lengths.map((length) => ({
      ...newItem(),
      contentType: 'text' as const,
      encryptedContent: 'A'.repeat(length),
      nonce: randomBytes(12).toString('base64'),
      maxViews: 1,
    }));
    const added = await Promise.all(notes.map((note) => one.notes.add(note)));
    expect(added.every(({ expiresAt }) => expiresAt.getTime() > Date.now())).toBe(true);
    for (const { id, encryptedContent } of notes) {
      expect((await other.notes.claimView(id))?.encryptedContent).toBe(encryptedContent);
    }
  });
});
