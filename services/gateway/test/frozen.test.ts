import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSocket, received, requestHead, untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { remoteUpstream } from '../src/remote-upstream.ts';
import { type FakeService, fakeService } from './fake-service.ts';
import { capturing, startGateway } from './start-gateway.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

type Behaviour = (socket: Socket, request: string) => void;
const well: Behaviour = (socket) => void socket.write(OK);
/** As a stopped process: the system takes connections and bytes, and nobody answers. */
const frozen: Behaviour = () => {};
const resets: Behaviour = (socket) => void socket.resetAndDestroy();
/** Its store is slow: what needs it waits, what does not is answered. */
const slow: Behaviour = (socket, request) => {
  if (request.startsWith('GET /livez')) socket.write(OK);
  else setTimeout(() => socket.write(OK), 4_000);
};

/** Two replicas that behave as the test says. */
async function start() {
  const stack = new AsyncDisposableStack();
  const replicas: FakeService[] = [];
  const behaviours = [well, well];
  for (const index of [0, 1]) {
    const answer = (socket: Socket, all: string) =>
      behaviours[index]?.(socket, all.match(/[A-Z]+ \/\S+/g)?.at(-1) ?? '');
    replicas.push(stack.use(await fakeService(answer, `127.0.0.${index + 31}`, replicas[0]?.port)));
  }
  const lookup = async (): Promise<LookupAddress[]> =>
    replicas.map((_, index) => ({ address: `127.0.0.${index + 31}`, family: 4 }));
  const log = capturing();
  const upstream = stack.use(remoteUpstream(`http://files.test:${replicas[0]?.port}`, log.logger, lookup));
  const { url } = stack.use(await startGateway(upstream));
  return {
    url,
    behaviours,
    log,
    upstream,
    async ask(path = '/api/exists/x', init: RequestInit = {}) {
      const began = performance.now();
      const { status } = await fetch(url + path, init);
      return { status, ms: performance.now() - began };
    },
    /** Requests that the replicas got, but for probes. */
    hits: (line = /(GET|POST) \/api/g) => replicas.map(({ received }) => received.join('').match(line)?.length ?? 0),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

// Linux answers on every address of 127.0.0.0/8; elsewhere they would have to be configured.
const onLinux = process.platform === 'linux' ? test.concurrent : test.skip;
const many = <T>(count: number, one: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => one(index)));

onLinux('a replica that freezes: what changes nothing is answered by the other, then all goes there', async () => {
  await using service = await start();
  await many(4, () => service.ask());
  service.behaviours[0] = frozen;
  for (const { status, ms } of await many(20, () => service.ask())) {
    expect(status).toBe(200);
    expect(ms).toBeLessThan(6_000);
  }
  const [before = 0] = service.hits();
  for (let i = 0; i < 20; i++) expect((await service.ask()).status).toBe(200);
  expect(service.hits()[0]).toBe(before);
  expect(service.upstream.replicas?.()).toEqual({ fit: 1, out: 1 });
  expect(service.log.messages()).toEqual(['a service is away']);

  service.behaviours[0] = well;
  await untilTrue(() => service.upstream.replicas?.().out === 0, 15_000);
  await many(20, () => service.ask());
  expect((service.hits()[0] ?? 0) - before).toBe(10);
  expect(service.log.messages()).toEqual(['a service is away', 'a service is back']);
});

onLinux('what counts is never asked of another: 504 after ten seconds, in the log with its service', async () => {
  await using service = await start();
  await many(4, () => service.ask());
  service.behaviours[0] = frozen;
  const answers = await many(6, (index) =>
    index % 3 === 0 ? service.ask('/api/download/x') : service.ask('/api/note/x/view', { method: 'POST', body: '{}' }),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 504, 504, 504]);
  for (const { ms } of answers) expect(ms).toBeLessThan(14_000);
  expect(service.hits(/(GET \/api\/download|POST \/api\/note)/g)).toEqual([3, 3]);
  const told = service.log.lines().find(({ msg }) => msg === 'a service did not answer');
  expect(told).toMatchObject({ level: 40, address: '127.0.0.31', status: 504 });
  expect(String(told?.service)).toMatch(/^http:\/\/files\.test:/);
});

onLinux('clients that do not wait long enough to see it do not hide that a replica is frozen', async () => {
  await using service = await start();
  await many(4, () => service.ask());
  service.behaviours[0] = frozen;
  await untilTrue(async () => {
    await service.ask('/api/exists/x', { signal: AbortSignal.timeout(100) }).catch(() => undefined);
    return service.upstream.replicas?.().out === 1;
  });
});

onLinux('a store that is slow leaves no replica out, and nothing is asked twice', async () => {
  await using service = await start();
  service.behaviours.fill(slow);
  const answers = await many(10, () => service.ask());
  for (const { status } of answers) expect(status).toBe(200);
  expect(service.hits()).toEqual([5, 5]);
  expect(service.log.messages()).toEqual([]);
});

onLinux('when all are frozen requests still go to all of them, and what comes back is answered', async () => {
  await using service = await start();
  service.behaviours.fill(frozen);
  const leave = new AbortController();
  let answered = 0;
  const ask = () => service.ask('/api/exists/x', { signal: leave.signal }).then(() => answered++);
  const asked = [ask(), ask(), ask(), ask()];
  await untilTrue(() => service.upstream.replicas?.().fit === 0);
  asked.push(ask(), ask(), ask(), ask());
  await untilTrue(() => service.hits().every((count) => count === 4));
  service.behaviours[1] = well;
  await untilTrue(() => answered === 4); // what waits at the other one moves on to the one that is back
  expect((await service.ask()).status).toBe(200);
  leave.abort();
  await Promise.allSettled(asked);
});

onLinux('three connections in a row that break: the replica is left out, with longer and longer pauses', async () => {
  await using service = await start();
  service.behaviours[0] = (socket, request) => (request.startsWith('GET /livez') ? well : resets)(socket, request);
  const statuses = [];
  for (let i = 0; i < 12; i++) statuses.push((await service.ask('/api/download/x')).status);
  expect(statuses.filter((status) => status === 502)).toHaveLength(3);
  await untilTrue(() => service.upstream.replicas?.().out === 0); // it answers when it is asked
  for (let i = 0; i < 6; i++) await service.ask('/api/download/x');
  expect(service.upstream.replicas?.().out).toBe(1);
  expect(service.log.messages().filter((msg) => msg === 'a service broke off')).toHaveLength(6);
});

onLinux('bodies that break off at the client say nothing about the replica', async () => {
  await using service = await start();
  const silentOnUploads: Behaviour = (socket, request) => {
    if (!request.startsWith('POST')) socket.write(OK);
  };
  service.behaviours.fill(silentOnUploads);
  for (let i = 0; i < 8; i++) {
    const socket = await openSocket(service.url);
    socket.write(`${requestHead('POST /api/upload', { 'Content-Length': '10', 'Content-Type': 'x/y' })}short`);
    await untilTrue(() => service.hits().reduce((sum, count) => sum + count) > i);
    socket.end();
    await received(socket);
  }
  expect(service.upstream.replicas?.()).toEqual({ fit: 2, out: 0 });
  expect(service.log.messages()).toEqual([]);
});

onLinux('a replica with one long upload is asked once a second whether it is there, and stays', async () => {
  await using service = await start();
  service.behaviours[0] = (socket, request) => {
    if (!request.startsWith('POST')) socket.write(OK);
  };
  service.behaviours[1] = service.behaviours[0];
  const controller = new AbortController();
  const upload = service
    .ask('/api/upload', { method: 'POST', body: 'x', signal: controller.signal })
    .catch(() => undefined);
  await sleep(3_500);
  expect(service.upstream.replicas?.()).toEqual({ fit: 2, out: 0 });
  controller.abort();
  await upload;
  expect(service.log.messages()).toEqual([]);
});
