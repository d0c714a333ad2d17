import { freePort } from '@mayfly/local-stores/ports';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { type AdminDeps, openAdmin } from '../src/admin.ts';
import { ConfigError } from '../src/config.ts';

const logger = pino({ level: 'silent' });

async function start(changes: Partial<AdminDeps> = {}) {
  const port = await freePort();
  const config = { ADMIN_PORT: port, ADMIN_HOST: '127.0.0.1' };
  const admin = await openAdmin(config, { isReady: async () => true, logger, ...changes });
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  return { admin, port, ask, [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose]() };
}

test('a process is ready from when it serves until it is asked to stop, and alive all the time', async () => {
  await using running = await start();
  const stop = Promise.withResolvers<string>();
  const states = async () => [await running.ask('/livez'), await running.ask('/readyz')];
  expect(await states()).toEqual([200, 503]);
  const served = running.admin.serving(() => stop.promise);
  expect(await states()).toEqual([200, 200]);
  stop.resolve('SIGTERM');
  expect(await served).toBe('SIGTERM');
  expect(await states()).toEqual([200, 503]);
});

test.each([
  ['says no', async () => false],
  ['rejects', async () => Promise.reject(new Error('no store'))],
  [
    'throws',
    () => {
      throw new Error('no store');
    },
  ],
  ['says nothing', () => new Promise(() => {})],
])('it is not ready when the check %s', async (_, isReady) => {
  await using running = await start({ isReady });
  void running.admin.serving(() => new Promise(() => {}));
  expect(await running.ask('/readyz')).toBe(503);
  expect(await running.ask('/livez')).toBe(200);
});

test('a process adds routes of its own', async () => {
  await using running = await start({ routes: (app) => void app.get('/metrics', async () => 'up 1') });
  expect(await running.ask('/metrics')).toBe(200);
  expect(await running.ask('/other')).toBe(404);
});

test('without ADMIN_PORT nothing listens and everything else goes on', async () => {
  await using admin = await openAdmin(
    { ADMIN_PORT: undefined, ADMIN_HOST: '127.0.0.1' },
    { isReady: async () => true, logger },
  );
  expect(await admin.serving(async () => 'SIGINT')).toBe('SIGINT');
});

test('a port that is taken is named by its setting', async () => {
  await using running = await start();
  const config = { ADMIN_PORT: running.port, ADMIN_HOST: '127.0.0.1' };
  const second = openAdmin(config, { isReady: async () => true, logger });
  await expect(second).rejects.toThrow(ConfigError);
  await expect(second).rejects.toThrow(/ADMIN_PORT/);
});
