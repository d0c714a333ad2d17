import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '@mayfly/shared/errors';
import { type FaultProxy, openFaultProxy } from '@mayfly/testing/fault-proxy';
import { freshDatabase } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../src/postgres/database.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';

// PostgreSQL goes silent: its connections stay open, and nothing comes back on them. New ones work, at once or later.

const logger = pino({ level: 'silent' });

let proxy: FaultProxy;
let uploads: ReturnType<typeof postgresUploads>;
beforeEach(async () => {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase({ hasTables: true }));
  proxy = stack.use(await openFaultProxy(database.url));
  const db = stack.use(openDatabase({ DATABASE_URL: proxy.url, DATABASE_POOL_SIZE: 5 }, logger));
  uploads = postgresUploads(db);
  return () => stack.disposeAsync();
});

/** Calls of every kind, batched ones and others, so that all connections of the pool are in use. */
const manyCalls = () =>
  Promise.allSettled(
    Array.from({ length: 40 }, () => [
      uploads.find(randomUUID()),
      uploads.renewLease(randomUUID(), 1),
      uploads.check(),
    ]).flat(),
  );

/** For how long calls go on failing, one after the other, in milliseconds. */
async function untilWell(withinMs: number): Promise<number> {
  const began = performance.now();
  while (performance.now() - began < withinMs) {
    try {
      await uploads.check();
      await uploads.find(randomUUID());
      return performance.now() - began;
    } catch (error) {
      expect(error).toBeInstanceOf(Unavailable);
    }
  }
  throw new Error(`not well within ${withinMs} ms`);
}

test('old connections are silent, new ones work: the first calls fail, then all goes on', {
  timeout: 60_000,
}, async () => {
  await manyCalls();
  expect(proxy.connections()).toBe(5);
  proxy.silence();
  proxy.mend();
  expect(await untilWell(40_000)).toBeLessThan(12_000);
  const began = performance.now();
  const answers = await manyCalls();
  expect(answers.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(performance.now() - began).toBeLessThan(4_000);
});

test('new connections are silent, too: all goes on soon after they work again', { timeout: 60_000 }, async () => {
  await manyCalls();
  proxy.silence();
  let isOver = false;
  const load = (async () => {
    while (!isOver) {
      void manyCalls();
      await sleep(500);
    }
  })();
  await sleep(7_000);
  proxy.mend();
  expect(await untilWell(40_000)).toBeLessThan(14_000);
  isOver = true;
  await load;
  const answers = await manyCalls();
  expect(answers.filter(({ status }) => status === 'rejected')).toEqual([]);
});
