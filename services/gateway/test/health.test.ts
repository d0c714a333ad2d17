import { untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import type { Upstream } from '../src/upstream.ts';
import { startGateway } from './start-gateway.ts';

/** A service whose readiness the test sets, and that counts how often it is asked. */
function watched() {
  const state = { isReady: true as boolean | 'silent', asked: 0 };
  const upstream: Upstream = {
    handle: (_request, response) => void response.end(),
    isReady() {
      state.asked++;
      return state.isReady === 'silent' ? new Promise(() => {}) : Promise.resolve(state.isReady);
    },
    describe: async () => ({ paths: {} }),
  };
  return { state, upstream };
}

const healthOf = async (url: string) => {
  const answer = await fetch(`${url}/api/health`);
  const { components } = (await answer.json()) as { components: Record<string, string> };
  return { status: answer.status, components };
};

test('all who ask within a second share one look', async () => {
  const { state, upstream } = watched();
  await using gateway = await startGateway(upstream);
  await untilTrue(async () => (await healthOf(gateway.url)).status === 200); // Redis is there: what is down is looked at more often
  state.asked = 0;
  const began = performance.now();
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 64 }, () => healthOf(gateway.url)));
  }
  const seconds = (performance.now() - began) / 1_000;
  expect(state.asked).toBeLessThanOrEqual(2 * Math.ceil(seconds + 1)); // files and notes are this one service
});

test('a fault shows within about a second, and its end sooner', async () => {
  const { state, upstream } = watched();
  await using gateway = await startGateway(upstream);
  await untilTrue(async () => (await healthOf(gateway.url)).status === 200); // Redis is there
  state.isReady = false;
  await untilTrue(async () => (await healthOf(gateway.url)).status === 503, 3_000);
  state.isReady = true;
  await untilTrue(async () => (await healthOf(gateway.url)).status === 200, 2_000);
});

test('a part that never answers is down after two seconds, for everybody who asks meanwhile', async () => {
  const { state, upstream } = watched();
  state.isReady = 'silent';
  const other = watched();
  await using gateway = await startGateway(upstream, { upstreams: { files: upstream, notes: other.upstream } });
  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: 20 }, () => healthOf(gateway.url)));
  expect(performance.now() - began).toBeLessThan(4_000);
  for (const { status, components } of answers) {
    expect([status, components]).toMatchObject([503, { files: 'down', notes: 'ok' }]);
  }
  expect(state.asked).toBe(1);
});
