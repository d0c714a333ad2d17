import type { Socket } from 'node:net';
import { openSocket, received, requestHead, untilTrue } from '@mayfly/testing/wire';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createApp } from '../src/app.ts';
import { openBodyBudget } from '../src/json-bodies.ts';

const MOST_BYTES = 200_000;
const LARGE = 150_000;

async function start() {
  const bodies = openBodyBudget(MOST_BYTES);
  const app = createApp({ logger: pino({ level: 'silent' }), bodies });
  app.post('/', async (request) => ({ length: (request.body as { text: string }).text.length }));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const send = async (size: number, sent = size): Promise<Socket> => {
    const socket = await openSocket(url);
    const body = JSON.stringify({ text: 'x'.repeat(size - 11) });
    socket.write(
      requestHead('POST /', { 'Content-Type': 'application/json', 'Content-Length': `${size}`, Connection: 'close' }),
    );
    socket.write(body.slice(0, sent));
    return socket;
  };
  return { bodies, send, [Symbol.asyncDispose]: () => app.close() };
}

test('what others hold leaves no room for a large body, and enough for a small one', async () => {
  await using service = await start();
  const held = await service.send(LARGE, LARGE - 1);
  await untilTrue(() => service.bodies.heldBytes > LARGE - 20_000);
  const refused = await received(await service.send(LARGE));
  expect(refused).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 5\r\n[\s\S]*\{"error":"Service unavailable"\}$/);
  expect(await received(await service.send(8_000))).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"length":7989\}$/);

  held.write('}');
  expect(await received(held)).toMatch(/^HTTP\/1\.1 200 /);
  await untilTrue(() => service.bodies.heldBytes === 0);
  expect(await received(await service.send(LARGE))).toMatch(/^HTTP\/1\.1 200 /);
});

test('what a client declares and does not send takes nothing, and what it leaves behind is given back', async () => {
  await using service = await start();
  const slow = await Promise.all(Array.from({ length: 10 }, () => service.send(LARGE, 100)));
  expect(await received(await service.send(LARGE))).toMatch(/^HTTP\/1\.1 200 /);
  for (const socket of slow) socket.destroy();

  const left = await service.send(LARGE, LARGE - 1);
  await untilTrue(() => service.bodies.heldBytes > 0);
  left.destroy();
  await untilTrue(() => service.bodies.heldBytes === 0);
});

test('a body that is alone is taken, whatever its size', async () => {
  await using service = await start();
  expect(await received(await service.send(3 * MOST_BYTES))).toMatch(/^HTTP\/1\.1 200 /);
  await untilTrue(() => service.bodies.heldBytes === 0);
});
