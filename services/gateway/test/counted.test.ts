import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { HttpError } from '@mayfly/shared/errors';
import { exchange, openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { freshConnection, type Place, silent, startGateway, upstreamTo } from './start-gateway.ts';

const ID = '11111111-1111-4111-8111-111111111111';

/** A gateway that lets three requests through, or two wrong tokens, and a service that believes no token. */
async function start(place: Place, given: Record<string, string>, answersAfterMs = 0) {
  const stack = new AsyncDisposableStack();
  const service = createApp({ logger: silent });
  const seen = { asked: 0 };
  service.get('/api/download/:id', async () => {
    seen.asked++;
    await sleep(answersAfterMs);
    throw new HttpError(401);
  });
  const upstream = await upstreamTo(stack, service, place);
  const redis = await freshConnection(stack);
  const { url } = stack.use(await startGateway(upstream, { redis }, given));
  const ask = async (target: string) => {
    const answer = await exchange(url, requestHead(`GET ${target}`, { Connection: 'close' }));
    return answer.match(/^HTTP\/1\.1 (\d+)/)?.[1];
  };
  return { ask, url, seen, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Ways to write one address; `{}` stands for the path without its slash. */
const SPELLINGS = [
  ['plain', '/{}'],
  ['with a query', '/{}?/api/health'],
  ['with an escaped letter', '/%61pi{-api}'],
  ['with an escaped slash of a longer path', '/{}?%2fapi%2fdocs'],
] as const;

const written = (spelling: string, path: string) =>
  spelling.replace('{-api}', path.slice('api'.length)).replace('{}', path);

describe.each(['local', 'remote'] as const)('with a service that is %s', (place) => {
  test.each(SPELLINGS)('a request is counted, however its address is written: %s', async (_, spelling) => {
    await using gateway = await start(place, { RATE_LIMIT_MAX: '3', TOKEN_FAILURES_MAX: '0' });
    const seen = [];
    for (let i = 0; i < 5; i++) seen.push(await gateway.ask(written(spelling, 'api/config')));
    expect(seen).toEqual(['200', '200', '200', '429', '429']);
    expect(await gateway.ask('/api/config')).toBe('429');
  });

  test('a guess whose answer is not waited for counts like any other', async () => {
    await using gateway = await start(place, { RATE_LIMIT_MAX: '0', TOKEN_FAILURES_MAX: '2' }, 300);
    for (let guesses = 1; guesses <= 2; guesses++) {
      const socket = await openSocket(gateway.url);
      socket.write(requestHead(`GET /api/download/${ID}`, {}));
      await untilTrue(() => gateway.seen.asked === guesses);
      socket.destroy();
    }
    await untilTrue(async () => (await gateway.ask(`/api/download/${ID}`)) === '429');
    expect(gateway.seen.asked).toBe(2);
  });

  test('and counts once, though its answer comes later', async () => {
    await using gateway = await start(place, { RATE_LIMIT_MAX: '0', TOKEN_FAILURES_MAX: '2' }, 300);
    const socket = await openSocket(gateway.url);
    socket.write(requestHead(`GET /api/download/${ID}`, {}));
    await untilTrue(() => gateway.seen.asked === 1);
    socket.destroy();
    await sleep(600);
    const seen = [];
    for (let i = 0; i < 2; i++) seen.push(await gateway.ask(`/api/download/${ID}`));
    expect(seen).toEqual(['401', '429']);
  });

  test.each(SPELLINGS)('so is a wrong token: %s', async (_, spelling) => {
    await using gateway = await start(place, { RATE_LIMIT_MAX: '0', TOKEN_FAILURES_MAX: '2' });
    const seen = [];
    for (let i = 0; i < 4; i++) seen.push(await gateway.ask(written(spelling, `api/download/${ID}`)));
    expect(seen).toEqual(['401', '401', '429', '429']);
    expect(await gateway.ask(`/api/download/${ID.replace('1', '%31')}`)).toBe('429');
  });
});

test('an address that names a server is no way in, and is counted', async () => {
  await using gateway = await start('local', { RATE_LIMIT_MAX: '3' });
  const seen = [];
  for (const server of ['http://x', 'HTTPS://user@x:1', 'http://localhost', 'http://x']) {
    seen.push(await gateway.ask(`${server}/api/config`));
  }
  expect(seen).toEqual(['404', '404', '404', '429']);
});

test('the health check and the reference are not counted; what only looks like them is', async () => {
  await using gateway = await start('local', { RATE_LIMIT_MAX: '3' });
  for (let i = 0; i < 6; i++) {
    expect(await gateway.ask('/api/docs/')).toBe('200');
    expect(await gateway.ask('/api/health')).not.toBe('429');
  }
  const others = ['/api/healthy', '/api/docs-not', '/api/health/x', '/api/nope'];
  const seen = [];
  for (const path of others) seen.push(await gateway.ask(path));
  expect(seen).toEqual(['404', '404', '404', '429']);
});
