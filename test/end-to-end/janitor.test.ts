import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase } from '@mayfly/local-stores/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diskBlobs } from '../infra/blobs.ts';
import { openFaultProxy } from '../infra/fault-proxy.ts';
import { migrateTables, type ServiceProcess, startProcess, stopService, untilReady } from '../infra/shapes.ts';
import { Api } from '../support/api.ts';
import { replaceableRedis } from '../support/stores.ts';
import { untilTrue } from '../support/wire.ts';

describe('a janitor whose stores go and come back', () => {
  const stack = new AsyncDisposableStack();
  let api: Api;
  let janitor: ServiceProcess;
  let redis: Awaited<ReturnType<typeof replaceableRedis>>;
  let proxy: Awaited<ReturnType<typeof openFaultProxy>>;
  let blobs: Awaited<ReturnType<typeof diskBlobs>>;

  beforeAll(async () => {
    const database = stack.use(await freshDatabase());
    redis = stack.use(await replaceableRedis());
    blobs = stack.use(await diskBlobs());
    await migrateTables({ DATABASE_URL: database.url });
    const direct = new URL(database.url);
    proxy = stack.use(await openFaultProxy(direct.hostname, Number(direct.port)));
    const watched = new URL(database.url);
    watched.port = String(proxy.port);
    const start = async (name: string, url: string) => {
      const service = await startProcess(name, { DATABASE_URL: url, REDIS_URL: redis.url, ...blobs.settings });
      stack.defer(() => stopService(service, 'SIGKILL'));
      await untilReady(service);
      return service;
    };
    api = new Api((await start('files', database.url)).url);
    janitor = await start('janitor', watched.href);
  });
  afterAll(() => stack.disposeAsync());

  const due = () => api.newUpload({ 'X-Expire-Sec': '1' });
  const isForgotten = async (id: string) => !(await blobs.names()).includes(`${id}.bin`);

  test('Redis comes back empty: the schedule is written again and sweeping goes on', async () => {
    const first = await due();
    await untilTrue(() => isForgotten(first.id), 15_000);
    await redis.kill();
    const second = await due();
    await sleep(1_500);
    expect(await isForgotten(second.id)).toBe(false);
    await redis.start();
    await untilTrue(() => isForgotten(second.id), 30_000);
  });

  test('PostgreSQL is away for a while: what fell due meanwhile is removed when it is back', async () => {
    proxy.cut();
    const upload = await due();
    await sleep(2_500);
    expect(await isForgotten(upload.id)).toBe(false);
    expect(janitor.child.exitCode).toBeNull();
    proxy.mend();
    await untilTrue(() => isForgotten(upload.id), 30_000);
  });
});
