import { randomBytes, randomUUID } from 'node:crypto';
import { NoRoom } from '@mayfly/shared/errors';
import { beforeAll, describe, expect, test } from 'vitest';
import type { NewSession, RecordedPart } from '../src/upload-sessions.ts';
import { admittedOf, uploadOf } from './contract-ceilings.ts';
import type { OpenTables, Tables } from './tables.ts';

const meta = { encryptedMeta: 'bWV0YQ==', nonce: 'bm9uY2U=', share: 'c2hhcmU' };
const PART = 100;

/** What a table of sessions promises. */
export function sessionsContract(open: OpenTables) {
  describe('sessions', () => {
    let { uploads, sessions, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ uploads, sessions, advance, close } = await open());
      return close;
    });

    const part = (number: number, bytes = PART): RecordedPart => ({ number, bytes, tag: randomUUID() });

    async function begin(sizeBytes: number, changes: Partial<NewSession> = {}, maxDownloads = 2) {
      const upload = uploadOf(sizeBytes, { maxDownloads });
      const session = { storeRef: 'ref', partBytes: PART, isExact: true, isAnnounced: false, sessionSec: 60 };
      const endsAt = await sessions.begin(upload, { ...session, ...changes });
      return { ...upload, endsAt };
    }

    /** A session with all its parts, the last one of 50 bytes. */
    async function full(count = 3, changes: Partial<NewSession> = {}) {
      const sizeBytes = (count - 1) * PART + 50;
      const upload = await begin(sizeBytes, changes);
      const parts = Array.from({ length: count }, (_, index) => part(index + 1, index + 1 === count ? 50 : PART));
      for (const one of parts) await sessions.record(upload.id, one);
      return { ...upload, parts };
    }

    test('a session is found as it was begun, and its upload is unknown to everyone', async () => {
      const upload = await begin(250, { storeRef: 'its name', isExact: false, isAnnounced: true });
      expect(await sessions.find(upload.id)).toEqual({
        id: upload.id,
        storeRef: 'its name',
        partBytes: PART,
        isExact: false,
        isAnnounced: true,
        isSealed: false,
        hasEnded: false,
        endsAt: upload.endsAt,
        mostBytes: 250,
        ownerHash: upload.ownerHash,
      });
      expect(await uploads.find(upload.id)).toBeUndefined();
      expect(await uploads.remove(upload.id)).toBe(false);
      expect(await sessions.find(randomUUID())).toBeUndefined();
    });

    test('parts are recorded in any order, listed in theirs, and the last try of each counts', async () => {
      const { id } = await begin(250);
      const [first, again, third] = [part(1), { ...part(1), digest: randomBytes(32) }, part(3, 50)];
      expect(await sessions.record(id, third)).toEqual({});
      expect(await sessions.record(id, first)).toEqual({});
      expect(await sessions.record(id, again)).toEqual({ replacedTag: first.tag });
      expect(await sessions.part(id, 1)).toEqual(again);
      expect(await sessions.part(id, 2)).toBeUndefined();
      const { digest: _, ...plain } = again;
      expect(await sessions.parts(id)).toEqual([plain, third]);
    });

    test('of twenty tries of a part at once one stays, and each other one is named once as replaced', async () => {
      const { id } = await begin(100);
      const tries = Array.from({ length: 20 }, () => part(1));
      const answers = await Promise.all(tries.map((one) => sessions.record(id, one)));
      const replaced = answers.flatMap((answer) => answer?.replacedTag ?? []);
      const [kept] = await sessions.parts(id);
      expect(new Set([...replaced, kept?.tag])).toEqual(new Set(tries.map(({ tag }) => tag)));
      expect(replaced).toHaveLength(19);
    });

    test.each<[string, number, [number, number][]]>([
      ['nothing', 250, []],
      [
        'the last part',
        250,
        [
          [1, 100],
          [2, 100],
        ],
      ],
      [
        'the first part',
        250,
        [
          [2, 100],
          [3, 50],
        ],
      ],
      [
        'a part in the middle',
        250,
        [
          [1, 100],
          [3, 50],
        ],
      ],
      [
        'a byte',
        250,
        [
          [1, 100],
          [2, 100],
          [3, 49],
        ],
      ],
      [
        'a byte in the middle',
        249,
        [
          [1, 100],
          [2, 99],
          [3, 50],
        ],
      ],
    ])('what lacks %s is not sealed, and takes parts', async (_, lengthBytes, stored) => {
      const { id } = await begin(1_000, { isExact: false });
      for (const [number, bytes] of stored) await sessions.record(id, part(number, bytes));
      expect(await sessions.seal(id, lengthBytes === 249 ? 249 : 250)).toBeUndefined();
      expect(await sessions.record(id, part(2))).toBeDefined();
    });

    test('what has a part too many is not sealed', async () => {
      const { id } = await begin(1_000, { isExact: false });
      for (const number of [1, 2, 3]) await sessions.record(id, part(number));
      expect(await sessions.seal(id, 200)).toBeUndefined();
      expect(await sessions.seal(id, 300)).toBeDefined();
    });

    test('of twenty seals at once all are the same one; it takes no part, and stays for another length', async () => {
      const { id, parts, sizeBytes } = await full();
      const seals = await Promise.all(Array.from({ length: 20 }, () => sessions.seal(id, sizeBytes)));
      expect(new Set(seals.map((sealed) => sealed?.seal)).size).toBe(1);
      expect(seals[0]?.parts).toEqual(parts);
      expect(await sessions.find(id)).toMatchObject({ isSealed: true });
      expect(await sessions.record(id, part(2))).toBeUndefined();
      expect(await sessions.seal(id, sizeBytes - 1)).toBeUndefined();
      expect((await sessions.seal(id, sizeBytes))?.seal).toBe(seals[0]?.seal);
      expect(await sessions.parts(id)).toEqual(parts);
    });

    test('parts that come while it is sealed are in the seal or refused, never lost', async () => {
      for (let round = 0; round < 10; round++) {
        const { id, sizeBytes } = await full(2);
        const late = Array.from({ length: 8 }, () => part(1));
        const [sealed, ...recorded] = await Promise.all([
          sessions.seal(id, sizeBytes),
          ...late.map((one) => sessions.record(id, one)),
        ]);
        expect(sealed?.parts).toEqual(await sessions.parts(id));
        const kept = late.findIndex(({ tag }) => tag === sealed?.parts[0]?.tag);
        if (kept >= 0) expect(recorded[kept]).toBeDefined();
      }
    });

    test('a part that the store does not have is taken again, under its seal only', async () => {
      const { id, sizeBytes } = await full();
      const sealed = await sessions.seal(id, sizeBytes);
      await sessions.unseal(id, randomUUID(), [2]);
      expect(await sessions.record(id, part(2))).toBeUndefined();
      await sessions.unseal(id, sealed?.seal ?? '', [2]);
      expect((await sessions.parts(id)).map(({ number }) => number)).toEqual([1, 3]);
      expect(await sessions.seal(id, sizeBytes)).toBeUndefined();
      await sessions.record(id, part(2));
      expect(await sessions.seal(id, sizeBytes)).toBeDefined();
    });

    test('it is published with its description in one step, once; its time begins then', async () => {
      const { id, sizeBytes } = await full();
      expect(await sessions.publish(id, sizeBytes, meta)).toBeUndefined(); // not sealed
      await sessions.seal(id, sizeBytes);
      await advance(1.1);
      const answers = await Promise.all(Array.from({ length: 20 }, () => sessions.publish(id, sizeBytes, meta)));
      expect(answers.filter((answer) => answer?.givenBackBytes === 0)).toHaveLength(1);
      expect(answers.filter((answer) => answer?.givenBackBytes === undefined)).toHaveLength(19);
      expect(answers).not.toContain(undefined);
      const found = await uploads.find(id);
      expect(found).toMatchObject({ status: 'available', sizeBytes, meta, downloadCount: 0 });
      if (found?.status !== 'available') throw new Error('not available');
      expect(found.expiresAt.getTime() - found.createdAt.getTime()).toBe(3_600_000);
      expect(await sessions.find(id)).toBeUndefined();
      expect(await sessions.parts(id)).toEqual([]);
      expect(await sessions.record(id, part(1))).toBeUndefined();
      expect(await sessions.cancel(id)).toBeUndefined();
    });

    test('who seals while it is published is told all of its parts, or nothing', async () => {
      for (let round = 0; round < 20; round++) {
        const { id, parts, sizeBytes } = await full();
        await sessions.seal(id, sizeBytes);
        const [published, ...seals] = await Promise.all([
          sessions.publish(id, sizeBytes),
          ...Array.from({ length: 8 }, () => sessions.seal(id, sizeBytes)),
        ]);
        expect(published).toBeDefined();
        for (const sealed of seals) expect(sealed?.parts ?? parts).toEqual(parts);
      }
    });

    test('without a description it can be given afterwards', async () => {
      const { id, sizeBytes } = await full();
      await sessions.seal(id, sizeBytes);
      await sessions.publish(id, sizeBytes);
      expect(await uploads.setMeta(id, meta)).toBe(true);
    });

    test('what it is shorter than it might have been is given back once', async () => {
      const { id } = await begin(1_000, { isExact: false });
      await sessions.record(id, part(1));
      await sessions.record(id, part(2, 1));
      await sessions.seal(id, 101);
      const answers = await Promise.all(Array.from({ length: 5 }, () => sessions.publish(id, 101)));
      expect(answers.flatMap((answer) => answer?.givenBackBytes ?? [])).toEqual([899]);
      expect(answers).not.toContain(undefined);
      expect(await uploads.find(id)).toMatchObject({ sizeBytes: 101 });
    });

    test('a cancelled one is gone, once, and what the store has of it is queued for deletion', async () => {
      const { id, sizeBytes } = await full(2, { storeRef: 'cancelled' });
      const answers = await Promise.all(Array.from({ length: 20 }, () => sessions.cancel(id)));
      expect(answers.filter(Boolean)).toEqual([{ givenBackBytes: sizeBytes, storeRef: 'cancelled' }]);
      expect(await sessions.find(id)).toBeUndefined();
      expect(await sessions.record(id, part(1))).toBeUndefined();
      expect(await sessions.seal(id, sizeBytes)).toBeUndefined();
      expect(await sessions.publish(id, sizeBytes)).toBeUndefined();
    });

    test('publishing and cancelling at once: one of them', async () => {
      for (let round = 0; round < 10; round++) {
        const { id, sizeBytes } = await full(2);
        await sessions.seal(id, sizeBytes);
        const [published, cancelled] = await Promise.all([sessions.publish(id, sizeBytes), sessions.cancel(id)]);
        expect([published !== undefined, cancelled !== undefined].filter(Boolean)).toHaveLength(1);
        expect((await uploads.find(id)) !== undefined).toBe(published !== undefined);
      }
    });

    test('the end is hard: no part, no seal; the sweep takes it, and its deletion comes up twice', async () => {
      const ended = await full(2, { sessionSec: 1, storeRef: 'ended' });
      const alive = await full(2);
      await advance(1.1);
      expect(await sessions.find(ended.id)).toMatchObject({ hasEnded: true });
      expect(await sessions.record(ended.id, part(1))).toBeUndefined();
      expect(await sessions.seal(ended.id, ended.sizeBytes)).toBeUndefined();
      await uploads.reapAbandoned(1_000);
      expect(await sessions.find(ended.id)).toBeUndefined();
      expect(await sessions.find(alive.id)).toMatchObject({ hasEnded: false });
      const taken = await uploads.takeDeletions(1_000);
      expect(taken).toContain(ended.id);
      expect(taken).not.toContain(alive.id);
      expect(await uploads.partedDeletions([ended.id, alive.id])).toEqual([
        { id: ended.id, storeRef: 'ended', isRepeated: false },
      ]);
      await uploads.partsDeleted(ended.id);
      await uploads.blobsDeleted([ended.id]);
      expect(await uploads.partedDeletions([ended.id])).toEqual([]);
    });

    test('the sweep leaves the longest session alone until its end', async () => {
      const { id } = await begin(100, { sessionSec: 86_400 });
      await uploads.reapAbandoned(1_000);
      expect(await sessions.find(id)).toBeDefined();
    });

    describe('below a ceiling', () => {
      const unknown = { storeRef: 'r', partBytes: PART, isExact: false, isAnnounced: false, sessionSec: 60 };
      /** How much more fits, asked of the ceiling itself. */
      async function leftOf({ uploads }: Tables): Promise<number> {
        let left = 0;
        for (let step = 512; step >= 1; step /= 2) {
          const probe = uploadOf(left + step);
          if ((await admittedOf([uploads.begin(probe, 60)])) === 0) continue;
          left += step;
          await uploads.abandon(probe.id);
          await uploads.blobsDeleted([probe.id]);
        }
        return left;
      }

      test('a session begins where there is room for all of it, and holds nothing before its parts come', async () => {
        await using small = await open(1_000);
        await expect(small.sessions.begin(uploadOf(1_001), unknown)).rejects.toBeInstanceOf(NoRoom);
        const all = Array.from({ length: 20 }, () => uploadOf(1_000));
        for (const upload of all) await small.sessions.begin(upload, unknown);
        expect(await leftOf(small)).toBe(1_000);
      });

      test('of a hundred tries at once of two sessions as many are let in as fit, and none is lost or kept', async () => {
        await using small = await open(1_000);
        const [one, other] = [uploadOf(1_000), uploadOf(1_000)];
        for (const upload of [one, other]) await small.sessions.begin(upload, unknown);
        const tries = Array.from({ length: 100 }, (_, index) => (index % 2 ? one : other).id);
        const held: string[] = [];
        const admitted = await admittedOf(
          tries.map((id) => small.sessions.hold(id, PART).then(() => void held.push(id))),
        );
        expect([admitted, await leftOf(small)]).toEqual([10, 0]);
        await Promise.all(held.map((id) => small.sessions.letGo(id, PART)));
        expect(await leftOf(small)).toBe(1_000);
      });

      test('what is recorded is held until its upload is deleted, and of a shorter last part what it has', async () => {
        await using small = await open(1_000);
        const { id } = uploadOf(1_000);
        await small.sessions.begin({ ...uploadOf(1_000), id }, unknown);
        for (const number of [1, 2]) {
          await small.sessions.hold(id, PART);
          await small.sessions.record(id, part(number, number === 2 ? 50 : PART));
        }
        await small.sessions.hold(id, PART); // a try whose process was killed
        expect(await leftOf(small)).toBe(700);
        await small.sessions.seal(id, 150);
        await small.sessions.publish(id, 150);
        expect(await leftOf(small)).toBe(850);
        await small.sessions.letGo(id, PART); // and one that ends too late
        expect(await leftOf(small)).toBe(850);
        await small.uploads.remove(id);
        expect(await leftOf(small)).toBe(850);
        await small.uploads.blobsDeleted([id]);
        expect(await leftOf(small)).toBe(1_000);
      });

      test('what is cancelled or swept is held until its parts are deleted; no room is kept for what is gone', async () => {
        await using small = await open(1_000);
        const [cancelled, ended] = [uploadOf(500), uploadOf(500)];
        await small.sessions.begin(cancelled, unknown);
        await small.sessions.begin(ended, { ...unknown, sessionSec: 1 });
        for (const { id } of [cancelled, ended]) await small.sessions.hold(id, PART);
        await small.sessions.cancel(cancelled.id);
        await small.advance(1.1);
        await small.uploads.reapAbandoned(10);
        for (const { id } of [cancelled, ended]) {
          await small.sessions.hold(id, PART);
          await small.sessions.letGo(id, PART);
        }
        expect(await leftOf(small)).toBe(800);
        await small.uploads.blobsDeleted([cancelled.id, ended.id]);
        expect(await leftOf(small)).toBe(1_000);
      });
    });
  });
}
