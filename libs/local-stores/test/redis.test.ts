import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findRedis } from '@mayfly/local-stores/find-redis';
import { startRedis } from '@mayfly/local-stores/redis';
import { freshFolder, freshRedis } from '@mayfly/testing/stores';
import { afterEach, expect, test } from 'vitest';

const { PATH } = process.env;
afterEach(() => {
  process.env.PATH = PATH;
});

/** Sends commands in Redis's inline form and resolves with the last answer's first line. */
function redis(url: string, ...commands: string[]): Promise<string> {
  const { port, password } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    const all = password ? [`AUTH ${password}`, ...commands] : commands;
    let text = '';
    socket.setTimeout(2_000, () => socket.destroy(new Error('no answer')));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text.trim().split('\r\n').at(-2) ?? ''));
    socket.end(`${all.join('\r\n')}\r\nQUIT\r\n`);
  });
}

test('nothing is kept on the disk, and what an earlier version kept is removed at the start', async () => {
  await using folder = await freshFolder();
  mkdirSync(join(folder.path, 'appendonlydir'));
  const old = [
    'appendonlydir/appendonly.aof.1.incr.aof',
    'appendonlydir/appendonly.aof.manifest',
    'dump.rdb',
    'temp-7.rdb',
  ];
  for (const name of old) writeFileSync(join(folder.path, name), 'mayfly:limiter-key');
  {
    await using first = await startRedis({ dataDir: folder.path });
    expect(await redis(first.url, 'SET word secret')).toBe('+OK');
  }
  await using second = await startRedis({ dataDir: folder.path });
  expect(await redis(second.url, 'GET word')).toBe('$-1');
  const left = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { parentPath, name } of left) {
    expect(readFileSync(join(parentPath, name), 'latin1'), name).not.toMatch(/mayfly:limiter-key|secret/);
  }
  expect(left.map(({ name }) => name).filter((name) => /aof|rdb/.test(name))).toEqual([]);
});

test('it throws nothing away when its memory is full, and asks for its password', async () => {
  await using server = await freshRedis();
  expect(await redis(server.url, 'CONFIG GET maxmemory-policy')).toBe('noeviction');
  expect(await redis(`redis://127.0.0.1:${server.port}`, 'GET word')).toMatch(/^-NOAUTH/);
});

test('a second start on the same data is refused while the first lives', async () => {
  await using folder = await freshFolder();
  await using _first = await startRedis({ dataDir: folder.path });
  await expect(startRedis({ dataDir: folder.path })).rejects.toThrow(
    `Redis in ${folder.path} is in use by process ${process.pid}; stop that one first.`,
  );
});

test('a paused Redis answers nothing until it is resumed, and can be stopped while it is paused', async () => {
  const server = await freshRedis();
  server.pause();
  await expect(redis(server.url, 'PING')).rejects.toThrow('no answer');
  server.resume();
  expect(await redis(server.url, 'PING')).toBe('+PONG');
  server.pause();
  await server.stop();
  await expect(redis(server.url, 'PING')).rejects.toThrow('ECONNREFUSED');
});

test('a Redis that is missing and cannot be installed is one sentence that says what to do', async () => {
  await using folder = await freshFolder();
  process.env.PATH = folder.path;
  await expect(findRedis()).rejects.toThrow(
    'Redis is missing: install redis-server, or set REDIS_URL to one that runs elsewhere.',
  );
});

test.runIf(process.getuid?.() === 0)("root gets a missing Redis from the system's package manager", async () => {
  await using folder = await freshFolder();
  process.env.PATH = folder.path;
  // Stands in for the real one: "installs" a program that only knows its version.
  const program = join(folder.path, 'redis-server');
  writeFileSync(
    join(folder.path, 'apt-get'),
    `#!/bin/sh
     [ "$1" = install ] || exit 0
     printf '#!/bin/sh\\necho Redis server v=7.0.15\\n' > ${program}
     /bin/chmod +x ${program}`,
  );
  chmodSync(join(folder.path, 'apt-get'), 0o755);
  const said: string[] = [];
  expect(await findRedis((line) => said.push(line))).toEqual({ path: program, version: '7.0.15' });
  expect(said).toEqual(['Installing Redis with apt-get (it is missing) ...']);
});

test('a Redis that is too old is refused by its version', async () => {
  await using folder = await freshFolder();
  mkdirSync(join(folder.path, 'bin'));
  const program = join(folder.path, 'bin', 'redis-server');
  writeFileSync(program, '#!/bin/sh\necho Redis server v=6.0.16 sha=0\n', { mode: 0o755 });
  process.env.PATH = join(folder.path, 'bin');
  await expect(findRedis()).rejects.toThrow(`${program} is version 6.0.16, and 6.2 is the oldest that works`);
});
