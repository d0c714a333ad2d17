import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { remoteUpstream } from '../src/remote-upstream.ts';
import { type FakeService, fakeService } from './fake-service.ts';
import { silent, startGateway } from './start-gateway.ts';

/** Replicas on addresses of their own and one port, behind a name whose addresses the test sets. */
async function start(count: number) {
  const stack = new AsyncDisposableStack();
  const replicas: FakeService[] = [];
  const leaving = new Set<number>();
  const answer = (index: number) => (socket: Socket) =>
    leaving.has(index)
      ? void socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok')
      : void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  for (let i = 0; i < count; i++) {
    replicas.push(stack.use(await fakeService(answer(i), `127.0.0.${i + 11}`, replicas[0]?.port)));
  }
  const name = { addresses: replicas.map((_, i) => ({ address: `127.0.0.${i + 11}`, family: 4 })), asked: 0 };
  const lookup = async (): Promise<LookupAddress[]> => {
    name.asked++;
    if (name.addresses.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return name.addresses;
  };
  const upstream = stack.use(remoteUpstream(`http://files.test:${replicas[0]?.port}`, silent, lookup));
  const { url } = stack.use(await startGateway(upstream));
  const ask = async (body?: string) =>
    (await (body ? fetch(`${url}/api/upload`, { method: 'POST', body }) : fetch(`${url}/api/exists/x`))).status;
  const hits = () => replicas.map(({ received }) => received.join('').match(/(GET|POST) \//g)?.length ?? 0);
  return { replicas, name, leaving, ask, hits, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

// Linux answers on every address of 127.0.0.0/8; elsewhere they would have to be configured.
const onLinux = test.skipIf(process.platform !== 'linux');

onLinux('requests go to all addresses in turns, under the name', async () => {
  await using service = await start(3);
  for (let i = 0; i < 30; i++) expect(await service.ask()).toBe(200);
  expect(service.hits()).toEqual([10, 10, 10]);
  expect(service.name.asked).toBeLessThan(10); // at most once every two seconds
  expect(service.replicas[1]?.received[0]).toMatch(/^host: files\.test:\d+\r$/im);
});

onLinux('a replica that is new gets requests within seconds, one that is gone gets none', async () => {
  await using service = await start(3);
  const all = service.name.addresses;
  service.name.addresses = all.slice(0, 2);
  for (let i = 0; i < 10; i++) await service.ask();
  expect(service.hits()).toEqual([5, 5, 0]);

  service.name.addresses = all.slice(1);
  await sleep(2_100);
  for (let i = 0; i < 10; i++) await service.ask();
  expect(service.hits()).toEqual([5, 10, 5]);
  await untilTrue(() => service.replicas[0]?.connections.size === 0); // its kept connections are let go
});

onLinux('a request that could not reach a replica goes to another one: nothing of it was sent', async () => {
  await using service = await start(3);
  for (let i = 0; i < 3; i++) await service.ask();
  await service.replicas[1]?.[Symbol.asyncDispose]();
  for (let i = 0; i < 30; i++) expect(await service.ask(i % 2 ? 'a body' : undefined)).toBe(200);
  const [first = 0, , third = 0] = service.hits();
  expect(first + third).toBe(32);
});

onLinux('a request is 503 when no replica can be reached', async () => {
  await using service = await start(3);
  await service.ask();
  for (const replica of service.replicas) await replica[Symbol.asyncDispose]();
  for (let i = 0; i < 3; i++) expect(await service.ask('a body')).toBe(503);
});

onLinux(
  'a replica that ends its connections leaves: the others get the requests, and its kept connections go',
  async () => {
    await using service = await start(2);
    for (let i = 0; i < 4; i++) await service.ask();
    await Promise.all(Array.from({ length: 8 }, () => service.ask()));
    service.leaving.add(0);
    for (let i = 0; i < 10; i++) expect(await service.ask()).toBe(200);
    expect(service.hits()).toEqual([7, 15]); // one more, whose answer told it
    await untilTrue(() => service.replicas[0]?.connections.size === 0);
  },
);

onLinux('when all leave, those that leave are asked', async () => {
  await using service = await start(2);
  service.leaving.add(0).add(1);
  for (let i = 0; i < 6; i++) expect(await service.ask()).toBe(200);
});

onLinux(
  'a name server that fails changes nothing; without any address yet: 503, and well when it is back',
  async () => {
    await using service = await start(2);
    const all = service.name.addresses;
    service.name.addresses = [];
    expect(await service.ask()).toBe(503);
    service.name.addresses = all;
    await sleep(100);
    expect(await service.ask()).toBe(200);
    service.name.addresses = [];
    await sleep(2_100);
    for (let i = 0; i < 4; i++) expect(await service.ask()).toBe(200);
  },
);
