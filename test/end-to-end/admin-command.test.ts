import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { runAdmin } from '../support/admin-command.ts';
import { describeEachShape } from '../support/each-shape.ts';

describeEachShape('the operators’ commands', { CLEANUP_INTERVAL_SEC: '3600' }, (service) => {
  const admin = (...args: string[]) =>
    runAdmin(args, { DATABASE_URL: service.running.databaseUrl, ...service.running.blobs.settings });
  const asJson = async (...args: string[]) => {
    const { code, stdout } = await admin(...args, '--json');
    return { code, facts: JSON.parse(stdout) };
  };

  test('stats: what is held, as a table and as JSON', async () => {
    await service.api.newUpload({}, Buffer.alloc(3_000));
    await service.api.newNote();
    const { code, facts } = await asJson('stats');
    expect(code).toBe(0);
    expect(facts.uploads).toContainEqual({ state: 'available', count: 1, bytes: 3_000 });
    expect(facts.notes).toContainEqual({ state: 'available', count: 1, bytes: expect.any(Number) });
    expect((await admin('stats')).stdout).toMatch(/^upload +available +1 +2\.9 KiB$/m);
  });

  test('sweep: what is due goes now', async () => {
    const upload = await service.api.newUpload({ 'X-Expire-Sec': '1' });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { code, facts } = await asJson('sweep');
    expect([code, facts]).toMatchObject([0, { uploadsRetired: 1, blobsDeleted: 1 }]);
    expect(await service.running.blobs.names()).not.toContain(`${upload.id}.bin`);
    expect((await admin('sweep')).stdout).toBe('Nothing was due.\n');
  });

  test('reconcile --dry-run: counts and changes nothing; without it the orphan goes', async () => {
    const orphan = `${randomUUID()}.bin`;
    await service.running.blobs.plant(orphan, Buffer.from('left by a crash'));
    const young = await asJson('reconcile', '--dry-run');
    expect([young.code, young.facts]).toMatchObject([0, { orphans: 0, outcome: 'counted' }]);
    await new Promise((resolve) => setTimeout(resolve, 2_100)); // older than the grace below
    const old = await runAdmin(['reconcile', '--json'], {
      DATABASE_URL: service.running.databaseUrl,
      RECONCILE_GRACE_SEC: '1',
      ...service.running.blobs.settings,
    });
    expect([old.code, JSON.parse(old.stdout)]).toMatchObject([0, { orphans: 1, outcome: 'mended' }]);
    await admin('sweep');
    expect(await service.running.blobs.names()).not.toContain(orphan);
  });

  test('remove: an upload and a note are gone for everyone', async () => {
    const upload = await service.api.newUpload();
    const note = await service.api.newNote();
    expect(await asJson('remove', upload.id.toUpperCase())).toEqual({
      code: 0,
      facts: { removed: 'upload', blobDeleted: true },
    });
    expect(await asJson('remove', note.id)).toEqual({ code: 0, facts: { removed: 'note' } });
    expect((await service.api.exists(upload.id)).status).toBe(404);
    expect((await service.api.note(note.id)).status).toBe(404);
    expect(await service.running.blobs.names()).not.toContain(`${upload.id}.bin`);
    expect((await asJson('remove', upload.id)).code).toBe(1);
  });

  test.each([[[]], [['nonsense']], [['constructor']], [['remove']], [['stats', 'x']], [['sweep', '--dry-run']]])(
    'a wrong command line is told how it goes: %j',
    async (args) => {
      const { code, stdout, stderr } = await admin(...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Usage:');
    },
  );

  test('stores that are away are one sentence', async () => {
    const nowhere = await runAdmin(['stats'], {
      DATABASE_URL: 'postgres://mayfly:secret-word@127.0.0.1:1/mayfly',
      ...service.running.blobs.settings,
    });
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr.trim().split('\n')).toHaveLength(1);
    expect(nowhere.stderr).not.toContain('secret-word');
  });
});
