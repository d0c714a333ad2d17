import { randomUUID } from 'node:crypto';
import { freshDatabase } from '@mayfly/testing/stores';
import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../src/postgres/database.ts';
import { postgresFileRequests } from '../src/postgres/file-requests.ts';
import { postgresStats } from '../src/postgres/stats.ts';
import { admittedOf, noteOf, uploadOf } from './contract-ceilings.ts';
import { storesOn } from './tables.ts';

// Ceilings over replicas: exact whoever comes at once, whenever they are set.

const logger = pino({ level: 'silent' });
const MAX_BYTES = 10_000;
const MOST_BYTES = 6_000;
type Replica = ReturnType<typeof storesOn>;

describe('replicas on one PostgreSQL', () => {
  let opened: Replica[] = [];
  let open: (maxBytes?: number) => Replica;
  beforeEach(async () => {
    const database = await freshDatabase({ hasTables: true });
    opened = [];
    open = (maxBytes) => {
      const db = openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 5 }, logger);
      const one = storesOn(db, maxBytes);
      opened.push(one);
      return one;
    };
    return async () => {
      await Promise.all(opened.map(({ db }) => db.destroy()));
      await database[Symbol.asyncDispose]();
    };
  });

  const held = async ({ db }: Replica) => {
    const { rows } = await sql<{ counter: number; rows: number; notes: number; noteRows: number }>`
      select (select bytes from files.storage) as counter, (select bytes from notes.storage) as notes,
        ((select coalesce(sum(held_bytes), 0) from files.uploads)
          + (select coalesce(sum(held_bytes), 0) from files.blob_deletions))::bigint as rows,
        (select coalesce(sum(held_bytes), 0) from notes.notes)::bigint as "noteRows"`.execute(db);
    return rows[0];
  };

  /** An upload that stays, so that there is never room for all; resolves with what takes it away. */
  const fillMost = async ({ uploads }: Replica) => {
    const most = uploadOf(MOST_BYTES);
    await uploads.begin(most, 60);
    return async () => {
      await uploads.abandon(most.id);
      await uploads.blobsDeleted([most.id]);
    };
  };

  test('uploads at once on two replicas never pass the ceiling, and come and go without a byte lost or kept', async () => {
    const replicas = [open(MAX_BYTES), open(MAX_BYTES)];
    const empty = await fillMost(replicas[0] as Replica);
    let most = 0;
    const watched = open();
    const rounds = replicas.flatMap((one) =>
      Array.from({ length: 60 }, async (_, index) => {
        for (let round = 0; round < 4; round++) {
          const upload = uploadOf(100 + ((index * 7 + round * 131) % 900));
          if ((await admittedOf([one.uploads.begin(upload, 60)])) === 0) continue;
          if (index % 5 === 0) most = Math.max(most, (await held(watched))?.counter ?? 0);
          if (index % 2 === 0) {
            await one.uploads.publish(upload.id);
            await one.uploads.remove(upload.id);
          } else await one.uploads.abandon(upload.id);
          await one.uploads.blobsDeleted([upload.id]);
        }
      }),
    );
    await Promise.all(rounds);
    expect(most).toBeGreaterThan(MOST_BYTES);
    expect(most).toBeLessThanOrEqual(MAX_BYTES);
    await empty();
    expect(await held(watched)).toMatchObject({ counter: 0, rows: 0 });
  });

  test('uploads in parts at once on two replicas never pass it either, however they end; nobody waits in a circle', async () => {
    const replicas = [open(MAX_BYTES), open(MAX_BYTES)];
    const [one, other] = replicas as [Replica, Replica];
    const empty = await fillMost(one);
    const watched = open();
    let most = 0;
    const session = { storeRef: 'r', partBytes: 500, isExact: true, isAnnounced: false, sessionSec: 60 };
    const rounds = Array.from({ length: 30 }, async (_, index) => {
      const upload = uploadOf(2_000);
      const { id } = upload;
      if ((await admittedOf([one.sessions.begin(upload, session)])) === 0) return;
      const send = async (number: number, { sessions }: Replica) => {
        if ((await admittedOf([sessions.hold(id, 500)])) === 0) return;
        const recorded = await sessions.record(id, { number, bytes: 500, tag: randomUUID() });
        if (!recorded || recorded.replacedTag !== undefined) await sessions.letGo(id, 500);
        most = Math.max(most, (await held(watched))?.counter ?? 0);
      };
      // Every part twice, while it is completed or given up elsewhere.
      const sent = [1, 2, 3, 4].flatMap((number) => [send(number, one), send(number, other)]);
      if (index % 3 === 0) await other.sessions.cancel(id);
      await Promise.all(sent);
      if (await other.sessions.seal(id, 2_000)) await one.sessions.publish(id, 2_000);
      await other.uploads.remove(id);
      await other.sessions.cancel(id);
      await one.uploads.blobsDeleted([id]);
    });
    await Promise.all(rounds);
    expect(most).toBeGreaterThan(MOST_BYTES);
    expect(most).toBeLessThanOrEqual(MAX_BYTES);
    await empty();
    expect(await held(watched)).toMatchObject({ counter: 0, rows: 0 });
  });

  test('notes are added, removed, used up and swept by everybody at once: nobody waits in a circle', async () => {
    const replicas = [open(MAX_BYTES), open(MAX_BYTES)];
    const rounds = replicas.flatMap((one) =>
      Array.from({ length: 40 }, async (_, index) => {
        for (let round = 0; round < 4; round++) {
          const note = noteOf(40 * (1 + ((index + round) % 20)));
          if ((await admittedOf([one.notes.add(note)])) === 0) await one.notes.retire(5, 3_600);
          else if (index % 2 === 0) await one.notes.remove(note.id);
          else await one.notes.claimView(note.id);
        }
      }),
    );
    await Promise.all(rounds);
    await replicas[0]?.notes.retire(1_000, 3_600);
    expect(await held(open())).toMatchObject({ notes: 0, noteRows: 0 });
  });

  test('a ceiling that is set later counts what is there, once, whoever starts at the same time', async () => {
    const before = open();
    const parted = uploadOf(5_000);
    const session = { storeRef: 'r', partBytes: 500, isExact: false, isAnnounced: false, sessionSec: 60 };
    await before.sessions.begin(parted, session);
    for (const number of [1, 2]) await before.sessions.record(parted.id, { number, bytes: 500, tag: 'x' });
    const uploads = Array.from({ length: 20 }, () => uploadOf(300, { maxDownloads: 2 }));
    await Promise.all(uploads.map((upload) => before.uploads.begin(upload, 60)));
    await Promise.all(Array.from({ length: 20 }, () => before.notes.add(noteOf(400))));
    expect(await held(before)).toEqual({ counter: 0, rows: 0, notes: 0, noteRows: 0 });
    const { uploads: counted } = await postgresStats(before.db).read();
    expect(counted).toContainEqual({ state: 'pending', count: 21, bytes: 20 * 300 + 1_000 });

    const after = Array.from({ length: 4 }, () => open(MAX_BYTES));
    expect(await admittedOf(after.map((one) => one.uploads.begin(uploadOf(4_100), 60)))).toBe(0);
    expect(await admittedOf(after.map((one) => one.uploads.begin(uploadOf(4_000), 60)))).toBe(1);
    expect(await admittedOf(after.map((one) => one.notes.add(noteOf(2_000))))).toBe(1);
    expect(await held(before)).toEqual({ counter: 10_000, rows: 10_000, notes: 10_000, noteRows: 10_000 });
    // What comes in parts is counted as it comes, and all of it when it is complete.
    expect(await admittedOf(after.map((one) => one.sessions.hold(parted.id, 500)))).toBe(0);
    await after[0]?.sessions.seal(parted.id, 1_000);
    await after[0]?.sessions.publish(parted.id, 1_000);
    expect(await held(before)).toMatchObject({ counter: 11_000, rows: 11_000 });
    await before.uploads.remove(parted.id);
    await before.uploads.blobsDeleted([parted.id]);
    // A replica without a ceiling gives back what another has counted.
    for (const { id } of uploads) await before.uploads.abandon(id);
    await before.uploads.blobsDeleted(uploads.map(({ id }) => id));
    expect(await held(before)).toMatchObject({ counter: 4_000, rows: 4_000 });
  });

  test('requests: a ceiling that is set later counts what is there; what is blocked makes room', async () => {
    const { db, desk } = open();
    const ask = (maxBytes?: number) => {
      const id = randomUUID();
      const limits = { maxDrops: 1, maxBytes: 1, dropExpireSec: 60, dropMaxDownloads: 1, expireSec: 60 };
      const request = { id, ownerHash: Buffer.alloc(32), publicKey: 'x'.repeat(952), ...limits };
      return postgresFileRequests(db, { maxBytes })
        .add(request)
        .then(() => id);
    };
    const bytes = async () =>
      (await sql<{ bytes: number }>`select bytes from files.request_storage`.execute(db)).rows[0]?.bytes;
    const first = await ask();
    await ask();
    expect(await bytes()).toBe(0);
    expect(await admittedOf([ask(6_000)])).toBe(0);
    expect(await bytes()).toBe(6_000); // 952 and 2,048 each
    expect(await desk.block(first, 'malware', 60)).toBe('request');
    expect(await bytes()).toBe(3_000);
    expect(await admittedOf([ask(6_000)])).toBe(1);
  });

  test('what an older version let go without saying so is found at the next start', async () => {
    const one = open(MAX_BYTES);
    const upload = uploadOf(9_000);
    await one.uploads.begin(upload, 60);
    await sql`delete from files.uploads where id = ${upload.id}`.execute(one.db);
    expect(await admittedOf([one.uploads.begin(uploadOf(9_000), 60)])).toBe(0);
    expect(await admittedOf([open(MAX_BYTES).uploads.begin(uploadOf(9_000), 60)])).toBe(1);
  });
});
