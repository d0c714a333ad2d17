import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runOpenLoop } from '../src/load.ts';
import { get } from '../src/messages.ts';

const PAUSE_MS = 500;

test('at a fixed rate every request is sent, and one that was due while the service stood still has waited from then on', async () => {
  const paths: string[] = [];
  let standing: Promise<void> | undefined;
  const server = createServer(async ({ url = '' }, response) => {
    paths.push(url);
    if (paths.length === 50) standing = sleep(PAUSE_MS);
    await standing;
    response.writeHead(200, { 'content-length': 2 }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server
    // One connection: all that is due meanwhile can only wait for it, as it does for nothing in a closed loop.
    const load = { url, connections: 1, seconds: 1, perSec: 200, request: (index: number) => get(`/${index}`, index) };
    const { requests, p99Ms } = await runOpenLoop(load);
    expect(requests).toBe(200);
    expect(new Set(paths).size).toBe(200);
    // Nearly a hundred were due in the pause; a closed loop would have seen one.
    expect(p99Ms).toBeGreaterThan(PAUSE_MS * 0.9);
  } finally {
    server.close();
  }
});

test('an answer that is no success ends it', async () => {
  const server = createServer((_, response) => response.writeHead(429, { 'content-length': 0 }).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server
  const load = { url, connections: 2, seconds: 1, perSec: 10, request: (index: number) => get('/', index) };
  await expect(runOpenLoop(load))
    .rejects.toThrow('the service answered 429')
    .finally(() => server.close());
});

test('a generator that stood still says how late it was', async () => {
  const server = createServer((_, response) => response.writeHead(200, { 'content-length': 2 }).end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server
  const stand = () => {
    for (const end = performance.now() + PAUSE_MS; performance.now() < end; );
  };
  setTimeout(stand, 300);
  try {
    const load = { url, connections: 8, seconds: 1, perSec: 100, request: (index: number) => get('/', index) };
    const { lateP99Ms } = await runOpenLoop(load);
    // Of the fifty that were due meanwhile the first one waited nearly as long; the one that is told of is the second of a hundred.
    expect(lateP99Ms).toBeGreaterThan(PAUSE_MS * 0.9);
  } finally {
    server.close();
  }
});
