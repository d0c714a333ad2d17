import { setTimeout as sleep } from 'node:timers/promises';
import { diskBlobs } from '@mayfly/testing/blobs';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { inSuite } from '@mayfly/testing/in-suite';
import { replaceableRedis } from '@mayfly/testing/replaceable-redis';
import { startReady } from '@mayfly/testing/shapes';
import { freshDatabase } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';

describe('a janitor whose stores go and come back', () => {
  const database = inSuite(() => freshDatabase({ hasTables: true }));
  const redis = inSuite(() => replaceableRedis());
  const blobs = inSuite(() => diskBlobs());
  const proxy = inSuite(() => openFaultProxy(database().url));
  const stack = inSuite(async () => new AsyncDisposableStack());
  const start = (name: string, url: string) =>
    startReady(stack(), name, { DATABASE_URL: url, REDIS_URL: redis().url, ...blobs().settings });
  const files = inSuite(() => start('files', database().url));
  const janitor = inSuite(() => start('janitor', proxy().url));

  const api = () => new Api(files().url);
  const due = () => api().newUpload({ 'X-Expire-Sec': '1' });
  const isForgotten = async (id: string) => !(await blobs().names()).includes(`${id}.bin`);

  test('Redis comes back empty: the schedule is written again and sweeping goes on', async () => {
    const first = await due();
    await untilTrue(() => isForgotten(first.id), 15_000);
    await redis().kill();
    const second = await due();
    await sleep(1_500); // it falls due, and may be swept by the janitor's own clock: decision sweeps-without-redis
    await redis().start();
    const third = await due();
    await untilTrue(async () => (await isForgotten(second.id)) && (await isForgotten(third.id)), 30_000);
  });

  test('PostgreSQL is away for a while: what fell due meanwhile is removed when it is back', async () => {
    proxy().cut();
    const upload = await due();
    await sleep(2_500);
    expect(await isForgotten(upload.id)).toBe(false);
    expect(janitor().child.exitCode).toBeNull();
    proxy().mend();
    await untilTrue(() => isForgotten(upload.id), 30_000);
  });
});
