import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { LeaseTerms } from '../src/download-leases.ts';
import type { NewUpload } from '../src/uploads.ts';
import { uploadOf } from './contract-ceilings.ts';
import type { OpenTables, Tables } from './tables.ts';

const SIZE = 100;
/** The first so many. */
const bytes = (count: number) => ({ first: 0, last: count - 1 });
const TERMS: LeaseTerms = {
  idleSec: 60,
  longestSec: 600,
  budgetBytes: 2 * SIZE,
  cuts: 2,
  ranges: 30,
  lostBytes: 80,
  forgivenBytes: 160,
};

/** What a table of leases promises. */
export function leasesContract(open: OpenTables) {
  describe('leases', () => {
    let { uploads, leases, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ uploads, leases, advance, close } = await open());
      return close;
    });

    const keyOf = (id: string) => ({ id, tokenHash: randomBytes(32) });
    async function add(changes: Partial<NewUpload> = {}) {
      const upload = uploadOf(SIZE, { maxDownloads: 2, ...changes });
      await uploads.begin(upload, 60);
      await uploads.publish(upload.id);
      return upload;
    }
    const countOf = async (id: string) => {
      const found = await uploads.find(id);
      return found?.status === 'available' ? found.downloadCount : found?.status;
    };
    /** Removes what is due; whether this upload was among it. */
    async function swept(id: string) {
      await uploads.endLeases(1_000);
      await uploads.retire(1_000, 3_600);
      return (await uploads.takeDeletions(1_000)).includes(id);
    }

    test('counts once, whatever is read under it and however often it is asked for', async () => {
      const { id, authHash } = await add();
      const key = keyOf(id);
      expect(await leases.find(key)).toBeUndefined();
      expect(await leases.take(key, bytes(10), TERMS)).toMatchObject({ count: 1 });
      for (let i = 0; i < 3; i++) expect(await leases.take(key, bytes(10), TERMS)).not.toHaveProperty('count');
      expect(await countOf(id)).toBe(1);
      expect(await leases.find(key)).toEqual({ authHash, sizeBytes: SIZE, fileCount: 1 });
    });

    test('is gone on with where there is one, and not opened by whoever goes on with it', async () => {
      const { id } = await add();
      const key = keyOf(id);
      const continued = { ...TERMS, isContinued: true };
      expect(await leases.take(key, bytes(10), continued)).toBe('gone');
      expect(await countOf(id)).toBe(0);
      await leases.take(key, bytes(10), TERMS);
      expect(await leases.take(key, bytes(10), continued)).toHaveProperty('endsAt');
      await leases.end(key, false);
      expect(await leases.take(key, bytes(10), continued)).toBe('gone');
      expect(await countOf(id)).toBe(1);
    });

    test('describes its upload as long as it lasts, used up or not, to nobody else', async () => {
      const password = { algo: 'argon2id', salt: 'c2FsdHNhbHRzYWx0c2FsdA' } as const;
      const { id, salt } = await add({ maxDownloads: 1, password });
      await uploads.setMeta(id, { encryptedMeta: 'bWV0YQ==', nonce: 'bm9uY2U=' });
      const key = keyOf(id);
      expect(await leases.describe(key)).toBeUndefined();
      const available = await uploads.find(id);
      await leases.take(key, bytes(10), TERMS);
      expect(await countOf(id)).toBe('limit_reached');
      expect(await leases.describe(key)).toMatchObject({ ...available, downloadCount: 1, salt, password });
      expect(await leases.describe(keyOf(id))).toBeUndefined();
      await leases.end(key, false);
      expect(await leases.describe(key)).toBeUndefined();
    });

    test('the same first request twenty times at once is one lease', async () => {
      const { id } = await add();
      const key = keyOf(id);
      const taken = await Promise.all(Array.from({ length: 20 }, () => leases.take(key, bytes(1), TERMS)));
      expect(taken.filter((one) => typeof one === 'object')).toHaveLength(20);
      expect(taken.filter((one) => typeof one === 'object' && one.count !== undefined)).toHaveLength(1);
      expect(await countOf(id)).toBe(1);
    });

    test('two hundred at once, half of them plain downloads, are exactly as many as are left', async () => {
      const { id } = await add({ maxDownloads: 50 });
      const wanted = Array.from({ length: 200 }, (_, index) =>
        index % 2 === 0 ? uploads.claimDownload(id, 60) : leases.take(keyOf(id), bytes(1), TERMS),
      );
      const granted = (await Promise.all(wanted)).filter((one) => one !== 0 && one !== 'gone');
      expect(granted).toHaveLength(50);
      expect(await countOf(id)).toBe('limit_reached');
    });

    test('is good for its bytes, and what was not sent of them is given back', async () => {
      const { id } = await add();
      const key = keyOf(id);
      for (const unsent of [0, 30]) {
        await leases.take(key, bytes(SIZE), TERMS);
        await leases.settle(key, unsent, TERMS.idleSec);
      }
      expect(await leases.take(key, bytes(31), TERMS)).toBe('ended');
      expect(await leases.take(key, bytes(30), TERMS)).toHaveProperty('endsAt');
      await leases.settle(key, 0, TERMS.idleSec);
      expect(await leases.take(key, bytes(1), TERMS)).toBe('ended');
    });

    test('forgives what did not arrive, up to so many bytes each time and in all', async () => {
      const { id } = await add();
      const key = keyOf(id);
      const read = async (first: number, last = SIZE - 1) => {
        const taken = await leases.take(key, { first, last }, TERMS);
        await leases.settle(key, 0, TERMS.idleSec);
        return typeof taken === 'object' || taken;
      };
      expect(await read(0)).toBe(true); // 100 are left
      expect(await read(10)).toBe(true); // 90 of the last were lost, and 80 of them are forgiven: 90
      expect(await read(30)).toBe(true); // 70 were lost, and all of them are forgiven: 90
      expect(await read(40)).toBe(true); // 60 were lost, and 10 are left to be forgiven: 40
      expect(await read(59)).toBe('ended'); // nothing is
      expect(await read(60)).toBe(true);
      expect(await read(99)).toBe('ended');
    });

    test('forgives several ranges that break off at once, whichever is gone on with first; what is next to one has broken off nowhere', async () => {
      const { id } = await add();
      const key = keyOf(id);
      const terms = { ...TERMS, ranges: 3 };
      const read = async (first: number, last: number) => {
        const taken = await leases.take(key, { first, last }, terms);
        await leases.settle(key, 0, terms.idleSec);
        return typeof taken === 'object' || taken;
      };
      for (const first of [0, 30, 60]) expect(await read(first, first + 29)).toBe(true); // 110 are left
      for (const first of [5, 35, 65]) expect(await read(first, first + 24)).toBe(true); // each was forgiven: 110
      expect(await read(90, 99)).toBe(true); // 100
      expect(await read(5, 29)).toBe(true); // the same place again: 75; what began within it is forgotten
      expect(await read(0, 75)).toBe('ended');
      expect(await read(0, 74)).toBe(true);
    });

    test('forgives a range of which nothing has arrived where that is said, up to so many bytes', async () => {
      const { id } = await add();
      const key = keyOf(id);
      const read = async (isRepeated: boolean) => {
        const taken = await leases.take(key, { first: 40, last: 99 }, { ...TERMS, isRepeated });
        await leases.settle(key, 0, TERMS.idleSec);
        return typeof taken === 'object' || taken;
      };
      expect(await read(true)).toBe(true); // it was the first: 140 are left
      for (const _ of [1, 2]) expect(await read(true)).toBe(true); // 60 were lost each time: 140
      expect(await read(false)).toBe(true); // read again: 80
      expect(await read(true)).toBe(true); // 40 are left to be forgiven: 60
      expect(await read(true)).toBe(true); // 0
      expect(await read(true)).toBe('ended');
    });

    test('goes on while nobody knows yet that a range has broken off, as often as it may break off, and not too many at once', async () => {
      const { id } = await add();
      const key = keyOf(id);
      const terms = { ...TERMS, ranges: 4 };
      for (let range = 1; range <= 4; range++)
        expect(await leases.take(key, bytes(SIZE), terms)).toHaveProperty('endsAt');
      expect(await leases.take(key, bytes(SIZE), terms)).toBe('busy');
      for (let range = 1; range <= 3; range++) await leases.settle(key, 0, terms.idleSec);
      expect(await leases.take(key, bytes(SIZE), terms)).toBe('ended'); // there were two cuts
      await leases.settle(key, SIZE, terms.idleSec);
      expect(await leases.take(key, bytes(1), terms)).toBe('ended');
    });

    test('keeps the payload of the last download until it is ended', async () => {
      const { id } = await add({ maxDownloads: 1 });
      const key = keyOf(id);
      await leases.take(key, bytes(SIZE), TERMS);
      expect(await countOf(id)).toBe('limit_reached');
      expect(await leases.take(keyOf(id), bytes(SIZE), TERMS)).toBe('gone');
      expect(await swept(id)).toBe(false);
      expect(await leases.take(key, bytes(10), TERMS)).toHaveProperty('endsAt'); // it can be continued all the same
      expect(await leases.find(key)).toMatchObject({ sizeBytes: SIZE });
      await leases.end(key, false);
      await leases.end(key, false); // again, by whoever had no answer
      expect(await swept(id)).toBe(true);
    });

    test.each(['is ended', 'runs out'])(
      'under which nothing was sent gives its download back when it %s',
      async (how) => {
        const { id } = await add({ maxDownloads: 1 });
        const key = keyOf(id);
        const terms = { ...TERMS, idleSec: 1 };
        await leases.take(key, bytes(SIZE), terms);
        await leases.settle(key, SIZE, terms.idleSec);
        expect(await countOf(id)).toBe('limit_reached');
        if (how === 'is ended') await leases.end(key, false);
        else await advance(1.05);
        expect(await swept(id)).toBe(false);
        expect(await countOf(id)).toBe(0);
      },
    );

    test('under which one byte was sent has used its download', async () => {
      const { id } = await add({ maxDownloads: 1 });
      const key = keyOf(id);
      await leases.take(key, bytes(SIZE), TERMS);
      await leases.settle(key, SIZE - 1, TERMS.idleSec);
      await leases.end(key, false);
      expect(await countOf(id)).toBe('limit_reached');
      expect(await swept(id)).toBe(true);
    });

    test('ends after a while without a range, goes on while one is read, and has a last moment', async () => {
      const { id } = await add({ maxDownloads: 3 });
      const [idle, read, old] = [keyOf(id), keyOf(id), keyOf(id)];
      const terms = { ...TERMS, idleSec: 1 };
      for (const key of [idle, read]) await leases.take(key, bytes(1), terms);
      await leases.take(old, bytes(1), { ...TERMS, longestSec: 1 });
      for (const key of [read, old]) await leases.renew(key, 300);
      await advance(1.05);
      expect(await leases.take(idle, bytes(1), terms)).toBe('ended');
      expect(await leases.find(idle)).toBeUndefined();
      expect(await leases.take(read, bytes(1), TERMS)).toHaveProperty('endsAt');
      expect(await leases.take(read, bytes(1), TERMS)).toHaveProperty('endsAt');
      expect(await leases.take(old, bytes(1), TERMS)).toHaveProperty('endsAt'); // it was being read
      expect(await leases.take(old, bytes(1), TERMS)).toBe('ended');
    });

    test('outlives the expiry of its upload by its own time, no longer, and nobody begins one then', async () => {
      const { id } = await add({ expireSec: 2, maxDownloads: 3 });
      const [short, long] = [keyOf(id), keyOf(id)];
      await Promise.all([
        leases.take(short, bytes(1), { ...TERMS, idleSec: 1 }),
        leases.take(long, bytes(1), { ...TERMS, idleSec: 300 }),
      ]);
      await leases.renew(short, 300);
      await advance(3.05);
      expect(await countOf(id)).toBe('expired');
      expect(await leases.take(keyOf(id), bytes(1), TERMS)).toBe('gone');
      expect(await leases.take(long, bytes(1), TERMS)).toHaveProperty('endsAt');
      expect(await leases.take(short, bytes(1), TERMS)).toHaveProperty('endsAt'); // it was being read
      expect(await leases.take(short, bytes(1), TERMS)).toBe('ended'); // what was said first about its end stays
      expect(await swept(id)).toBe(false);
      await leases.end(long, false);
      expect(await swept(id)).toBe(true);
    });

    test('ends with its upload when the owner deletes it', async () => {
      const { id } = await add();
      const key = keyOf(id);
      await leases.take(key, bytes(1), TERMS);
      await uploads.remove(id);
      expect(await leases.find(key)).toBeUndefined();
      await leases.settle(key, 1, TERMS.idleSec);
      await leases.end(key, false);
      expect(await leases.take(keyOf(randomUUID()), bytes(1), TERMS)).toBe('gone');
    });
  });
}
