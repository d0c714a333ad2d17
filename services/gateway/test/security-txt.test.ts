import { createApp } from '@mayfly/shared/app';
import { loadConfig } from '@mayfly/shared/config';
import { bodySettings } from '@mayfly/shared/settings';
import { expect, test } from 'vitest';
import { securitySettings } from '../src/security-txt.ts';
import { fairnessSettings, limitSettings, workSettings } from '../src/settings.ts';
import { silent, startGateway, upstreamTo } from './start-gateway.ts';

const PATH = '/.well-known/security.txt';
const NOON = Date.parse('2026-01-02T12:00:00Z');

async function start(given: Record<string, string>) {
  const stack = new AsyncDisposableStack();
  const upstream = await upstreamTo(stack, createApp({ logger: silent }), 'local');
  const all = { ...limitSettings, ...workSettings, ...fairnessSettings, ...bodySettings, ...securitySettings };
  const { url } = stack.use(await startGateway(upstream, { settings: loadConfig(all, given), now: () => NOON }));
  return { url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('contacts in their order, an end that is less than a year away, languages and its own address', async () => {
  await using gateway = await start({
    SECURITY_CONTACT: 'mailto:security@mayfly.example, https://mayfly.example/tell',
    SECURITY_LANGUAGES: 'en, de',
  });
  const answer = await fetch(gateway.url + PATH);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(await answer.text()).toBe(
    [
      'Contact: mailto:security@mayfly.example',
      'Contact: https://mayfly.example/tell',
      'Expires: 2026-04-02T00:00:00.000Z',
      'Preferred-Languages: en, de',
      'Canonical: https://public.example/.well-known/security.txt',
      '',
    ].join('\n'),
  );
  const head = await fetch(gateway.url + PATH, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect((await fetch(gateway.url + PATH, { method: 'POST' })).status).toBe(404);
});

test('there is none without a contact', async () => {
  await using gateway = await start({});
  const answer = await fetch(gateway.url + PATH);
  expect([answer.status, await answer.json()]).toEqual([404, { error: 'Not Found' }]);
});

test.each(['security@mayfly.example', 'http://mayfly.example', 'mailto:a@b.example,', 'javascript:alert(1)'])(
  'a contact that is none stops the start: %s',
  (SECURITY_CONTACT) => {
    expect(() => loadConfig(securitySettings, { SECURITY_CONTACT })).toThrow('SECURITY_CONTACT');
  },
);

test('a contact cannot bring lines of its own', async () => {
  await using gateway = await start({
    SECURITY_CONTACT: 'https://mayfly.example/tell\nContact: mailto:somebody@else.example',
  });
  const text = await (await fetch(gateway.url + PATH)).text();
  expect(text.match(/^Contact: .*$/gm)).toHaveLength(1);
});
