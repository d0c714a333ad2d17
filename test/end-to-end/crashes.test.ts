import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inSuite } from '@mayfly/testing/in-suite';
import { type ServiceProcess, untilReady } from '@mayfly/testing/shapes';
import type { Moment } from '@mayfly/testing/triggering-proxy';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Api, token, uploadHeaders } from '../support/api.ts';
import { NOTHING, openCrashSite } from '../support/crash-site.ts';

// Processes are killed (SIGKILL) at the moments when half of something is done. The statements are known by a part of their text.

const BEGIN = 'insert into files.uploads';
const PUBLISH = 'expires_at - created_at';
const CLAIM = 'download_count + granted';
const REMOVE = 'delete from files.uploads where id =';
const RETIRE = 'retired as (';
const SETTLE = 'delete from files.blob_deletions d';

describe.each(['disk', 'S3'] as const)('crashes (%s)', (kind) => {
  const site = inSuite(() => openCrashSite(kind));
  const files = inSuite(() => site().start('files'));
  const api = () => new Api(files().url);

  beforeEach(async () => {
    if (files().child.exitCode !== null || files().child.signalCode !== null) await restart(files());
    else {
      site().toDatabase.drop(); // a statement's text passes once per connection
      await sleep(100); // until the process has noticed
      await untilReady(files());
    }
  });

  afterEach(async () => {
    // Whatever a test has done: the invariants hold at once, and two sweeps leave nothing over.
    expect(await site().broken()).toEqual([]);
    await site().untilQuiet();
    await site().letTimePass();
    for (let i = 0; i < 2; i++) await site().sweep();
    expect(await site().leftOver()).toEqual(NOTHING);
    expect(await site().broken()).toEqual([]);
  });

  async function restart(service: ServiceProcess) {
    await service.stop('SIGKILL');
    service.restart();
    await untilReady(service);
  }

  /** Kills the process the moment the statement passes; what its client sees is a broken connection. */
  async function killedAt(service: ServiceProcess, text: string, moment: Moment, work: () => Promise<unknown>) {
    const killed = site().toDatabase.when(text, moment, () => service.child.kill('SIGKILL'));
    await Promise.all([killed, expect(work()).rejects.toThrow()]);
  }

  const headers = () => uploadHeaders({ authToken: token(), ownerToken: token() });
  const send = () => api().upload(randomBytes(100_000), headers());
  const states = async () => (await site().query('select state from files.uploads')).map(({ state }) => state);

  describe('files, in an upload', () => {
    test('before its row is there', () => killedAt(files(), BEGIN, 'before', send));

    test('when its row is there and no byte of it', async () => {
      await killedAt(files(), BEGIN, 'after', send);
      expect(await states()).toContain('pending');
    });

    test('in the middle of its bytes', async () => {
      const socket = await openSocket(files().url);
      socket.write(requestHead('POST /api/upload', { ...headers(), 'Content-Length': '1000000' }));
      socket.write(Buffer.alloc(500_000));
      await untilTrue(async () => (await states()).includes('pending'));
      await files().stop('SIGKILL');
      socket.destroy();
    });

    test('between the blob and the row', async () => {
      await killedAt(files(), PUBLISH, 'before', send);
      expect(await states()).toContain('pending');
      expect((await site().blobs.names()).length).toBeGreaterThan(0);
    });

    test('when it is available and nobody has been told: it stays until it expires', async () => {
      await killedAt(files(), PUBLISH, 'after', send);
      expect(await states()).toContain('available');
    });
  });

  describe('files, in a download', () => {
    test('when it is counted and no byte is sent: the use is spent, never more than the limit', async () => {
      const upload = await api().newUpload({ 'X-Max-Downloads': '2' });
      await killedAt(files(), CLAIM, 'after', () => api().download(upload.id, upload.authToken));
      files().restart();
      await untilReady(files());
      expect((await api().info(upload.id)).body.downloadCount).toBe(1);
      expect((await api().download(upload.id, upload.authToken)).status).toBe(200);
      expect((await api().download(upload.id, upload.authToken)).status).toBe(410);
    });
  });

  describe('files, in a delete', () => {
    test('before anything is deleted: it can be asked for again', async () => {
      const upload = await api().newUpload();
      await killedAt(files(), REMOVE, 'before', () => api().deleteUpload(upload.id, upload.ownerToken));
      files().restart();
      await untilReady(files());
      expect((await api().deleteUpload(upload.id, upload.ownerToken)).status).toBe(200);
    });

    test('when the row is gone and the blob is not', async () => {
      const upload = await api().newUpload();
      await killedAt(files(), REMOVE, 'after', () => api().deleteUpload(upload.id, upload.ownerToken));
      expect(await site().blobs.names()).toContain(`${upload.id}.bin`);
    });

    test('when both are gone and the deletion is still queued', async () => {
      const upload = await api().newUpload();
      await killedAt(files(), SETTLE, 'before', () => api().deleteUpload(upload.id, upload.ownerToken));
      expect(await site().blobs.names()).not.toContain(`${upload.id}.bin`);
    });
  });

  describe('the janitor, in the middle of a batch', () => {
    /** Uploads that are due, and a janitor that is killed at the statement. */
    async function dueWhenKilled(text: string, moment: Moment) {
      const uploads = await Promise.all(Array.from({ length: 30 }, () => api().newUpload()));
      await site().query(`update files.uploads set expires_at = now(), due_at = now() where state = 'available'`);
      let janitor: ServiceProcess | undefined;
      const killed = site().toDatabase.when(text, moment, () => janitor?.child.kill('SIGKILL'));
      janitor = await site().start('janitor');
      await killed;
      await janitor.stop('SIGKILL');
      return uploads;
    }

    test.each([
      ['before rows are retired', RETIRE, 'before'],
      ['when rows are retired and their blobs are not deleted', RETIRE, 'after'],
      ['when blobs are deleted and their deletions are not settled', SETTLE, 'before'],
      ['when deletions are settled', SETTLE, 'after'],
    ] as const)('%s', async (_, text, moment) => {
      const uploads = await dueWhenKilled(text, moment);
      for (const { id } of uploads) expect((await api().exists(id)).body).toEqual({ exists: false, reason: 'expired' });
    });

    test.skipIf(kind === 'disk')('before the blobs are deleted (S3: a disk has no request to wait for)', async () => {
      await Promise.all(Array.from({ length: 30 }, () => api().newUpload()));
      await site().query(`update files.uploads set expires_at = now(), due_at = now() where state = 'available'`);
      let janitor: ServiceProcess | undefined;
      const killed = site().toBlobs?.when('?delete', 'before', () => janitor?.child.kill('SIGKILL'));
      janitor = await site().start('janitor');
      await killed;
      expect((await site().blobs.names()).length).toBeGreaterThanOrEqual(30);
    });
  });

  test('at random, again and again, under load', { timeout: 240_000 }, async () => {
    const janitor = await site().start('janitor');
    const victims = [files(), files(), janitor];
    const seen = { uploaded: 0, downloaded: 0, deleted: 0, broken: 0, kills: 0 };
    const kept: { id: string; authToken: string; payload: Buffer }[] = [];
    const until = Date.now() + Number(process.env.CRASH_TEST_SEC ?? 8) * 1000;
    const isOver = () => Date.now() > until && seen.kills > 2; // a busy machine restarts slowly

    const client = async () => {
      while (!isOver()) {
        try {
          const upload = await api().newUpload({ 'X-Max-Downloads': '2' }, randomBytes(1 + Math.random() * 2_000_000));
          seen.uploaded += 1;
          const fate = Math.random();
          if (fate < 0.3) {
            await api().deleteUpload(upload.id, upload.ownerToken);
            seen.deleted += 1;
          } else if (fate < 0.7) {
            const answers = [];
            for (let i = 0; i < 3; i++) answers.push((await api().download(upload.id, upload.authToken)).status);
            expect(answers.filter((status) => status === 200).length).toBeLessThanOrEqual(2);
            seen.downloaded += answers.filter((status) => status === 200).length;
          } else {
            kept.push(upload);
          }
        } catch {
          seen.broken += 1; // the process was killed under it
          await sleep(20);
        }
      }
    };
    const killer = async () => {
      while (!isOver()) {
        await sleep(100 + Math.random() * 600);
        const victim = victims[Math.floor(Math.random() * victims.length)] ?? files();
        await restart(victim);
        seen.kills += 1;
      }
    };
    await Promise.all([client(), client(), client(), client(), killer()]);
    await janitor.stop();
    console.log(`crashes at random (${kind}): ${JSON.stringify({ ...seen, kept: kept.length })}`);

    expect(kept.length).toBeGreaterThan(0);
    for (const { id, authToken, payload } of kept) {
      expect((await api().download(id, authToken)).body.bytes).toEqual(payload); // what was promised is there
    }
  });
});
