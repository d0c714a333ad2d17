import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openRedis } from '../src/redis.ts';

test('a connection for jobs whose other end says nothing any more is replaced', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.resume().on('error', () => {}); // it takes everything, and never answers
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = { REDIS_URL: `redis://127.0.0.1:${port}`, REDIS_TIMEOUT_MS: 100 };
  await using _connection = openRedis(config, 'queue', pino({ level: 'silent' }));
  await expect.poll(() => connections, { timeout: 30_000, interval: 200 }).toBeGreaterThan(1);
  server.close();
});
