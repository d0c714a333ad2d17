import { mkdir, rm } from 'node:fs/promises';
import { freshFolder, testS3Settings } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { runAdmin } from '../support/admin-command.ts';
import { describeEachShape } from '../support/each-shape.ts';

// A blob store that is empty, not mounted or another one: nothing may be taken for lost, and nothing may get into it.

describeEachShape('a wrong blob store', { CLEANUP_INTERVAL_SEC: '3600' }, (service) => {
  const admin = async (settings: Record<string, string>, ...args: string[]) => {
    const { blobs, databaseUrl } = service.running;
    const all = { DATABASE_URL: databaseUrl, RECONCILE_GRACE_SEC: '1', ...blobs.settings, ...settings };
    const { code, stdout, stderr } = await runAdmin(args, all);
    return { code, text: stdout + stderr };
  };
  const aged = () => new Promise((resolve) => setTimeout(resolve, 1_100)); // older than the grace

  test('a comparison with another store is refused, forced or not, makes none, and changes nothing', async () => {
    const upload = await service.api.newUpload({ 'X-Max-Downloads': '5' });
    await aged();
    await using folder = await freshFolder();
    const other: Record<string, string> = service.running.blobs.settings.BLOB_DIR
      ? { BLOB_DIR: folder.path }
      : { S3_BUCKET: testS3Settings().S3_BUCKET };
    for (const options of [[], ['--force'], ['--dry-run']]) {
      const { code, text } = await admin(other, 'reconcile', '--json', ...options);
      expect(code).toBe(1);
      expect(JSON.parse(text)).toMatchObject({ outcome: 'refused', problem: expect.stringContaining('blob store') });
    }
    const adopted = await admin(other, 'adopt-store');
    expect([adopted.code, adopted.text]).toEqual([1, expect.stringContaining('0 have their blob there')]);
    expect((await service.api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
  }, 120_000);

  test('a lost upload is 410, and is what it was when a comparison finds its blob again', async () => {
    const { blobs } = service.running;
    await service.api.newUpload();
    const upload = await service.api.newUpload();
    const before = (await service.api.info(upload.id)).body;
    await aged();
    await blobs.hide(upload.id);
    expect((await admin({}, 'reconcile')).code).toBe(0);
    expect((await service.api.download(upload.id, upload.authToken)).status).toBe(410);
    expect((await service.api.exists(upload.id)).body).toEqual({ exists: false, reason: 'expired' });
    await blobs.show(upload.id);
    await admin({}, 'sweep');
    expect((await admin({}, 'reconcile')).code).toBe(0);
    expect((await service.api.info(upload.id)).body).toEqual(before);
    expect((await service.api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
  });

  test('a folder that is not mounted takes nothing, deletes nothing, and health says so', async () => {
    const { blobs } = service.running;
    const folder = blobs.settings.BLOB_DIR;
    if (!folder) return; // a bucket has no mount point
    const [kept, deleted] = [await service.api.newUpload(), await service.api.newUpload()];
    const health = async () => (await fetch(`${service.api.baseUrl}/api/health`)).status;
    await blobs.away();
    await mkdir(folder);
    try {
      await expect(service.api.newUpload()).rejects.toThrow('503');
      expect((await service.api.download(kept.id, kept.authToken)).status).toBe(503);
      expect((await service.api.deleteUpload(deleted.id, deleted.ownerToken)).status).toBe(200);
      expect(await health()).toBe(503);
      expect(await blobs.names()).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
      await blobs.back();
    }
    await untilTrue(async () => (await health()) === 200);
    expect((await service.api.download(kept.id, kept.authToken)).body.bytes).toEqual(kept.payload);
    expect(await blobs.names()).toContain(`${deleted.id}.bin`); // its deletion is still queued
    const stats = await admin({}, 'stats', '--json');
    expect(JSON.parse(stats.text).blobDeletions).toBeGreaterThan(0);
  });
});
