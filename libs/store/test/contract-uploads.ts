import { beforeAll, describe, expect, test } from 'vitest';
import type { NewUpload } from '../src/uploads.ts';
import { newItem } from './new-items.ts';
import type { OpenTables, Tables } from './tables.ts';

const LEASE_SEC = 60;
const meta = { encryptedMeta: 'bWV0YQ==', nonce: 'bm9uY2U=' };

function newUpload(changes: Partial<NewUpload> = {}): NewUpload {
  return {
    ...newItem(),
    sizeBytes: 5_000_000_000,
    fileCount: 1,
    maxDownloads: 2,
    ...changes,
  };
}

/** What a table of uploads promises. */
export function uploadsContract(open: OpenTables) {
  describe('uploads', () => {
    let { uploads, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ uploads, advance, close } = await open());
      return close;
    });

    const add = async (changes: Partial<NewUpload> = {}) => {
      const upload = newUpload(changes);
      await uploads.begin(upload, LEASE_SEC);
      expect(await uploads.publish(upload.id)).toBe(true);
      return upload;
    };

    test('an upload on its way is unknown to everyone', async () => {
      const { id } = newUpload();
      await uploads.begin({ ...newUpload(), id }, LEASE_SEC);
      expect(await uploads.find(id)).toBeUndefined();
      expect(await uploads.setMeta(id, meta)).toBe(false);
      expect(await uploads.claimDownload(id, LEASE_SEC)).toBe(0);
      expect(await uploads.remove(id)).toBe(false);
      expect(await uploads.publish(id)).toBe(true);
      expect(await uploads.find(id)).toMatchObject({ id, status: 'available' });
    });

    test('a published upload is found as it was recorded', async () => {
      const { expireSec, ...upload } = await add({ fileCount: 3, password: { algo: 'argon2id', salt: 'c2FsdA' } });
      const found = await uploads.find(upload.id);
      expect(found).toMatchObject({ ...upload, status: 'available', downloadCount: 0 });
      if (found?.status !== 'available') throw new Error('not available');
      expect(found.expiresAt.getTime() - found.createdAt.getTime()).toBe(expireSec * 1000);
      expect(found.meta).toBeUndefined();
    });

    test('an upload that was taken back cannot be published', async () => {
      const upload = newUpload();
      await uploads.begin(upload, LEASE_SEC);
      await uploads.abandon(upload.id);
      expect(await uploads.publish(upload.id)).toBe(false);
    });

    test('an upload that is published twice stays as it was after the first time', async () => {
      const { id } = await add({ maxDownloads: 2 });
      const before = await uploads.find(id);
      await uploads.claimDownload(id, LEASE_SEC);
      await advance(0.01);
      expect(await uploads.publish(id)).toBe(true);
      expect(await uploads.find(id)).toEqual({ ...before, downloadCount: 1 });
    });

    test('abandon does not touch an available upload', async () => {
      const { id } = await add();
      await uploads.abandon(id);
      expect(await uploads.find(id)).toBeDefined();
    });

    test('metadata is stored once, whoever comes at the same time', async () => {
      const { id } = await add();
      const answers = await Promise.all(Array.from({ length: 20 }, () => uploads.setMeta(id, meta)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await uploads.find(id)).toMatchObject({ meta });
    });

    test('a share is kept with the metadata, once, until the upload is over', async () => {
      const [{ id }, other] = [await add({ maxDownloads: 1 }), await add()];
      expect(await uploads.setMeta(id, { ...meta, share: 'c2hhcmU' })).toBe(true);
      expect(await uploads.setMeta(id, { ...meta, share: 'b3RoZXI' })).toBe(false);
      expect(await uploads.setMeta(other.id, meta)).toBe(true);
      expect(await uploads.find(id)).toMatchObject({ meta: { ...meta, share: 'c2hhcmU' } });
      expect((await uploads.find(other.id)) as object).toHaveProperty('meta', meta);
      await uploads.claimDownload(id, LEASE_SEC);
      expect(await uploads.find(id)).not.toHaveProperty('meta');
    });

    test('metadata may be long', async () => {
      const { id } = await add();
      const long = { ...meta, encryptedMeta: 'A'.repeat(200_000) };
      expect(await uploads.setMeta(id, long)).toBe(true);
      expect(await Promise.all([uploads.find(id), uploads.find(id)])).toMatchObject([{ meta: long }, { meta: long }]);
    });

    test.each([1, 2, 5])(
      'of twenty claims at once on a %i-download upload exactly that many succeed',
      async (limit) => {
        const { id } = await add({ maxDownloads: limit });
        const answers = await Promise.all(Array.from({ length: 20 }, () => uploads.claimDownload(id, LEASE_SEC)));
        expect(answers.filter(Boolean)).toHaveLength(limit);
        expect(await uploads.find(id)).toMatchObject({ status: 'limit_reached', hasPassword: false });
      },
    );

    test('a returned download can be claimed again, and never more than were claimed', async () => {
      const { id } = await add({ maxDownloads: 1 });
      await uploads.returnDownload(id);
      expect(await uploads.claimDownload(id, LEASE_SEC)).toBe(1);
      await uploads.returnDownload(id);
      expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
      expect(await uploads.claimDownload(id, LEASE_SEC)).toBe(1);
      expect(await uploads.claimDownload(id, LEASE_SEC)).toBe(0);
    });

    test('an expired upload is gone for everyone but its owner', async () => {
      const { id, ownerHash } = await add({ expireSec: 1, password: { algo: 'pbkdf2', salt: 'c2FsdA' } });
      await advance(1.1);
      expect(await uploads.find(id)).toEqual({ id, status: 'expired', ownerHash, hasPassword: true });
      expect(await uploads.claimDownload(id, LEASE_SEC)).toBe(0);
      expect(await uploads.setMeta(id, meta)).toBe(false);
      expect(await uploads.remove(id)).toBe(true);
      expect(await uploads.find(id)).toBeUndefined();
    });

    test('a removed upload is removed once, and its blob is handed out for deletion until that is settled', async () => {
      const { id } = await add();
      expect(await uploads.remove(id)).toBe(true);
      expect(await uploads.remove(id)).toBe(false);
      expect(await uploads.takeDeletions(1000)).toContain(id);
      await uploads.blobsDeleted([id]);
      expect(await uploads.takeDeletions(1000)).not.toContain(id);
    });

    test('the sweep leaves a tombstone with the reason, then nothing', async () => {
      const expired = await add({ expireSec: 1 });
      const used = await add({ maxDownloads: 1 });
      const alive = await add();
      await uploads.claimDownload(used.id, 1);
      await advance(1.1);
      const retired = await uploads.retire(1000, 1);
      expect(retired.count).toBeGreaterThanOrEqual(2);
      expect(retired.unused).toBeGreaterThanOrEqual(1);
      expect(retired.expired).toBeLessThan(retired.count);
      expect(await uploads.find(expired.id)).toMatchObject({ status: 'expired', ownerHash: expired.ownerHash });
      expect(await uploads.find(used.id)).toMatchObject({ status: 'limit_reached', ownerHash: used.ownerHash });
      expect(await uploads.find(alive.id)).toMatchObject({ status: 'available' });
      const deletions = await uploads.takeDeletions(1000);
      expect(deletions).toEqual(expect.arrayContaining([expired.id, used.id]));
      expect(deletions).not.toContain(alive.id);
      await advance(1.1);
      expect(await uploads.endTombstones(1000)).toBeGreaterThanOrEqual(2);
      expect(await uploads.find(expired.id)).toBeUndefined();
      expect(await uploads.find(used.id)).toBeUndefined();
    });

    test('the owner can delete a tombstone whose blob still waits for its deletion', async () => {
      const { id } = await add({ maxDownloads: 1 });
      await uploads.claimDownload(id, 0);
      await uploads.retire(1000, 3600);
      expect(await uploads.remove(id)).toBe(true);
      expect(await uploads.find(id)).toBeUndefined();
    });

    test('the sweep leaves an upload alone while its last download runs', async () => {
      const { id } = await add({ maxDownloads: 1 });
      await uploads.claimDownload(id, 1);
      await uploads.renewLease(id, 3);
      await advance(1.1);
      await uploads.retire(1000, 3600);
      expect(await uploads.takeDeletions(1000)).not.toContain(id);
      await advance(2.1);
      await uploads.retire(1000, 3600);
      expect(await uploads.takeDeletions(1000)).toContain(id);
    });

    test('the last download keeps the payload until it is over, and not a moment longer', async () => {
      const { id } = await add({ maxDownloads: 2 });
      for (let i = 0; i < 2; i++) await uploads.claimDownload(id, LEASE_SEC);
      await uploads.release(id, false);
      await uploads.retire(100, 60);
      expect(await uploads.takeDeletions(100)).not.toContain(id); // the other one is still under way
      await uploads.release(id, false);
      await uploads.retire(100, 60);
      expect(await uploads.takeDeletions(100)).toContain(id);
    });

    test('a last download that nobody reads from the store any more keeps nothing', async () => {
      const { id } = await add({ maxDownloads: 1 });
      await uploads.claimDownload(id, 0);
      await uploads.retire(100, 60);
      expect(await uploads.takeDeletions(100)).toContain(id);
    });

    test('an upload whose sender vanished is reaped when its lease ends, and not before', async () => {
      const vanished = newUpload();
      const slow = newUpload();
      await uploads.begin(vanished, 1);
      await uploads.begin(slow, 1);
      await uploads.renewLease(slow.id, LEASE_SEC);
      await advance(1.1);
      expect(await uploads.reapAbandoned(1000)).toBeGreaterThanOrEqual(1);
      expect(await uploads.publish(vanished.id)).toBe(false);
      expect(await uploads.publish(slow.id)).toBe(true);
      expect(await uploads.takeDeletions(1000)).toContain(vanished.id);
    });

    test('sweeps at once share the work: nothing is done twice', async () => {
      await Promise.all(Array.from({ length: 40 }, () => add({ expireSec: 1 })));
      await advance(1.1);
      const counts = await Promise.all(
        Array.from({ length: 8 }, () => uploads.retire(10, 3600).then(({ count }) => count)),
      );
      const { count: rest } = await uploads.retire(1000, 3600);
      expect(counts.reduce((a, b) => a + b, 0) + rest).toBe(40);
    });
  });
}
