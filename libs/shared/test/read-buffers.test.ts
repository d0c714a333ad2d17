import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyOf, countRead } from '@mayfly/shared/read-buffers';
import { expect, test, vi } from 'vitest';

const MIB = 1024 * 1024;
const held = () => process.memoryUsage().arrayBuffers;

test('buffers that nobody needs any more go after every 8 MiB that were read', async () => {
  countRead(8 * MIB); // which begins a new count
  const before = held();
  for (let read = 0; read < 7; read += 1) countRead(Buffer.allocUnsafeSlow(MIB).length);
  expect(held() - before).toBeGreaterThan(6 * MIB);
  countRead(MIB);
  await vi.waitFor(() => expect(held() - before).toBeLessThan(2 * MIB), 5_000);
});

test('whoever stops reading a body leaves the connection open for the answer', async () => {
  const server = createServer(async (incoming, response) => {
    for await (const chunk of bodyOf(incoming)) {
      response.end(`${chunk.length}`);
      break;
    }
    incoming.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST' }, async (response) => {
      resolve((await response.setEncoding('utf8').toArray()).join(''));
    });
    sent.on('error', reject).end('five!');
  });
  server.close();
  expect(answer).toBe('5');
});
