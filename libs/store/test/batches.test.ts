import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase } from '@mayfly/local-stores/testing';
import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { batched } from '../src/postgres/batched.ts';
import { migrate, openDatabase } from '../src/postgres/database.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';

// Calls that come at once share statements. Nobody may notice.

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
      await sleep(1);
    }
    expect(runs).toEqual([1, 1]);
    resolve();
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 20 }, (_, call) => call));
    expect(runs).toEqual([1, 1, 18]);
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
  return { db, notes: postgresNotes(db), uploads: postgresUploads(db) };
}

describe('two replicas on one PostgreSQL', () => {
  const [most, items, claimsOfEach] = [3, 40, 4];
  let one: Replica;
  let other: Replica;
  beforeAll(async () => {
    const database = await freshDatabase();
    [one, other] = [open(database.url), open(database.url)];
    await migrate(one.db);
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

  const common = () => ({
    id: randomUUID(),
    authHash: randomBytes(32),
    ownerHash: randomBytes(32),
    salt: randomBytes(16).toString('base64url'),
    expireSec: 3600,
  });

  test('of all views of many notes exactly 1..N succeed for each, with its content', async () => {
    const notes = Array.from({ length: items }, () => ({
      ...common(),
      contentType: 'text' as const,
      encryptedContent: randomBytes(200).toString('base64'),
      nonce: randomBytes(12).toString('base64'),
      maxViews: most,
    }));
    await Promise.all(notes.map((note) => one.notes.add(note)));
    const asked = claims(notes.map(({ id }) => id));
    const views = await Promise.all(asked.map(({ replica, id }) => replica.notes.claimView(id)));
    for (const { id, encryptedContent, nonce } of notes) {
      const granted = views.filter((view, index) => view && asked[index]?.id === id);
      expect(granted.map((view) => view?.viewCount).sort()).toEqual([1, 2, 3]);
      for (const view of granted) expect(view).toMatchObject({ encryptedContent, nonce, maxViews: most });
      expect(await other.notes.find(id)).toMatchObject({ status: 'limit_reached' });
    }
  });

  test('of all downloads of many uploads exactly 1..N succeed for each', async () => {
    const uploads = Array.from({ length: items }, () => ({
      ...common(),
      sizeBytes: 100,
      fileCount: 1,
      maxDownloads: most,
    }));
    await Promise.all(uploads.map((upload) => one.uploads.begin(upload, 60)));
    expect(await Promise.all(uploads.map(({ id }) => other.uploads.publish(id)))).toEqual(uploads.map(() => true));
    const asked = claims(uploads.map(({ id }) => id));
    const counts = await Promise.all(asked.map(({ replica, id }) => replica.uploads.claimDownload(id, 60)));
    for (const { id } of uploads) {
      const ofOne = counts.filter((_, index) => asked[index]?.id === id);
      expect(ofOne.filter((count) => count > 0).sort()).toEqual([1, 2, 3]);
      expect(ofOne.filter((count) => count === 0)).toHaveLength(2 * claimsOfEach - most);
    }
  });

  test('small and large notes that are added at once are all there', async () => {
    const lengths = [1, 16 * 1024 - 4, 16 * 1024 + 4, 1_000_000, 12, 12];
    const notes = lengths.map((length) => ({
      ...common(),
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
