import { expect, test } from 'vitest';
import type { App, GatewayDeps } from '../src/deps.ts';
import type { RequestLimits } from '../src/limits/limits.ts';
import { limitReports } from '../src/report-limit.ts';

const HOUR_MS = 3_600_000;

/** What the limit does with a request, while Redis is away. Resolves with the status of its refusal, and how long to wait. */
function limited(most: number) {
  let now = 0;
  let hook: ((request: object) => Promise<void>) | undefined;
  const app = {
    addHook: (_: string, added: typeof hook) => {
      hook = added;
    },
  };
  const redis = {
    defineCommand() {},
    mayflyCountReport: async () => {
      throw new Error('Redis is away');
    },
  };
  const deps = { redis, settings: { REPORTS_PER_CLIENT_MAX: most }, now: () => now };
  const requests = { keyOf: async (address: string) => address };
  limitReports(app as unknown as App, requests as RequestLimits, deps as unknown as GatewayDeps);
  const send = async (address: string, route: object = { isOfReports: true, method: 'POST' }) => {
    try {
      await hook?.({ address, routeOptions: { config: { route } } });
      return 'admitted';
    } catch (error) {
      const { statusCode, headers } = error as { statusCode: number; headers: Record<string, string> };
      return [statusCode, Number(headers['retry-after'])];
    }
  };
  return {
    send,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test('without Redis each process counts for itself: so many in an hour that begins with the first', async () => {
  const { send, pass } = limited(2);
  expect([await send('a'), await send('a')]).toEqual(['admitted', 'admitted']);
  pass(HOUR_MS / 2);
  expect(await send('a')).toEqual([429, 1_800]);
  expect(await send('b')).toBe('admitted');
  pass(HOUR_MS / 2);
  expect(await send('a')).toBe('admitted');
});

test('other requests are not counted, notices neither', async () => {
  const { send } = limited(1);
  for (let i = 0; i < 3; i += 1) {
    expect(await send('a', { isOfReports: true, method: 'GET' })).toBe('admitted');
    expect(await send('a', { method: 'POST' })).toBe('admitted');
  }
});

test('more clients than are remembered: the first is forgotten, and nothing grows without end', async () => {
  const { send } = limited(1);
  for (let i = 0; i <= 10_000; i += 1) await send(`client ${i}`);
  expect(await send('client 5000')).toEqual([429, 3_600]);
  expect(await send('client 0')).toBe('admitted');
});

test('0: no limit', async () => {
  const { send } = limited(0);
  for (let i = 0; i < 50; i += 1) expect(await send('a')).toBe('admitted');
});
