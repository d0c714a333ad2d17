import { setTimeout as sleep } from 'node:timers/promises';
import { diskBlobs } from '@mayfly/testing/blobs';
import { type FaultProxy, openFaultProxy } from '@mayfly/testing/fault-proxy';
import { replaceableRedis } from '@mayfly/testing/replaceable-redis';
import { type ServiceProcess, startReady } from '@mayfly/testing/shapes';
import { freshDatabase } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';

describe('a janitor whose stores go and come back', () => {
  const stack = new AsyncDisposableStack();
  let api: Api;
  let janitor: ServiceProcess;
  let redis: Awaited<ReturnType<typeof replaceableRedis>>;
  let proxy: FaultProxy;
  let blobs: Awaited<ReturnType<typeof diskBlobs>>;

  beforeAll(async () => {
    const database = stack.use(await freshDatabase({ hasTables: true }));
    redis = stack.use(await replaceableRedis());
    blobs = stack.use(await diskBlobs());
    proxy = stack.use(await openFaultProxy(database.url));
    const start = (name: string, url: string) =>
      startReady(stack, name, { DATABASE_URL: url, REDIS_URL: redis.url, ...blobs.settings });
    api = new Api((await start('files', database.url)).url);
    janitor = await start('janitor', proxy.url);
  });
  afterAll(() => stack.disposeAsync());

  const due = () => api.newUpload({ 'X-Expire-Sec': '1' });
  const isForgotten = async (id: string) => !(await blobs.names()).includes(`${id}.bin`);

  test('Redis comes back empty: the schedule is written again and sweeping goes on', async () => {
    const first = await due();
    await untilTrue(() => isForgotten(first.id), 15_000);
    await redis.kill();
    const second = await due();
    await sleep(1_500); // it falls due, and may be swept by the janitor's own clock: decision sweeps-without-redis
    await redis.start();
    const third = await due();
    await untilTrue(async () => (await isForgotten(second.id)) && (await isForgotten(third.id)), 30_000);
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
