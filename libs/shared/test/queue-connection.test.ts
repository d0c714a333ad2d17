import { createServer } from 'node:net';
import { listen } from '@mayfly/testing/listen';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openRedis } from '../src/redis.ts';

test('a connection for jobs whose other end says nothing any more is replaced', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.resume().on('error', () => {}); // it takes everything, and never answers
  });
  const { port } = await listen(server);
  const config = { REDIS_URL: `redis://127.0.0.1:${port}`, REDIS_TIMEOUT_MS: 100 };
  await using _connection = openRedis(config, 'queue', pino({ level: 'silent' }));
  await expect.poll(() => connections, { timeout: 30_000, interval: 200 }).toBeGreaterThan(1);
  server.close();
});
