import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '@mayfly/local-stores/postgres';
import { identify, isRunning } from '@mayfly/local-stores/process-identity';
import { freshDatabase, freshFolder, query, testDatabaseUrl } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';

/** Another process that starts PostgreSQL on the folder, tells the server's number, and stays. */
function startIn(dataDir: string) {
  const source = `
    const { startPostgres } = await import(${JSON.stringify(import.meta.resolve('../src/postgres.ts'))});
    const { pid } = await startPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    process.send(pid);
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

async function startElsewhere(dataDir: string) {
  const child = startIn(dataDir);
  const [pid] = await once(child, 'message');
  const server = identify(pid);
  if (!server) throw new Error('PostgreSQL does not run');
  return { child, server };
}

test('data survives a restart, in UTF-8 and on a port of loopback only', async () => {
  await using folder = await freshFolder();
  const dataDir = join(folder.path, 'postgres');
  {
    await using first = await startPostgres({ dataDir });
    expect(new URL(first.url).hostname).toBe('127.0.0.1');
    await query(first.url, `CREATE TABLE words AS SELECT 'Eintagsfliege žlutá' AS word`);
    expect(await query(first.url, `SELECT current_setting('fsync') AS fsync`)).toEqual([{ fsync: 'on' }]);
  }
  await using second = await startPostgres({ dataDir });
  expect(await query(second.url, 'SELECT upper(word) AS word FROM words')).toEqual([{ word: 'EINTAGSFLIEGE ŽLUTÁ' }]);
});

test('a wrong password is refused, and the right one is readable by its owner only', async () => {
  await using folder = await freshFolder();
  await using postgres = await startPostgres({ dataDir: folder.path });
  const url = new URL(postgres.url);
  expect(statSync(join(folder.path, 'password')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder.path, 'password'), 'utf8')).toBe(url.password);
  url.password = 'guess';
  await expect(query(url.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
});

test('a throw-away server leaves nothing behind', async () => {
  const postgres = await startPostgres();
  const [row] = await query(postgres.url, `SELECT current_setting('data_directory') AS folder`);
  const server = identify(postgres.pid);
  expect(existsSync(String(row?.folder))).toBe(true);
  await postgres.stop();
  expect(existsSync(String(row?.folder))).toBe(false);
  expect(server && isRunning(server)).toBe(false);
});

test('a second start on the same data is refused while the first lives', async () => {
  await using folder = await freshFolder();
  await using _first = await startPostgres({ dataDir: folder.path });
  await expect(startPostgres({ dataDir: folder.path })).rejects.toThrow(
    `PostgreSQL in ${folder.path} is in use by process ${process.pid}; stop that one first.`,
  );
});

test('the server stops when its starter is killed, and the next start finds the data', async () => {
  await using folder = await freshFolder();
  const { child, server } = await startElsewhere(folder.path);
  child.kill('SIGKILL');
  while (isRunning(server)) await sleep(50);
  await using again = await startPostgres({ dataDir: folder.path });
  expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a server that was left running is stopped by the next start', async () => {
  await using folder = await freshFolder();
  const { child, server } = await startElsewhere(folder.path);
  // Stopped, it does not hear the watchdog: as after a watchdog's own death.
  process.kill(server.pid, 'SIGSTOP');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await using again = await startPostgres({ dataDir: folder.path });
  expect(isRunning(server)).toBe(false);
  expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('stale pid files are no obstacle, even when their number belongs to another process', async () => {
  await using folder = await freshFolder();
  await (await startPostgres({ dataDir: folder.path })).stop();
  writeFileSync(join(folder.path, '18', 'postmaster.pid'), `${process.ppid}\n${folder.path}/18\n0\n1\n\n127.0.0.1\n`);
  const notThatOne = { pid: process.pid, started: 'in another life' };
  writeFileSync(join(folder.path, 'process.json'), JSON.stringify({ owner: notThatOne, server: notThatOne }));
  await using again = await startPostgres({ dataDir: folder.path });
  expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('an interrupted first start is no obstacle', async () => {
  await using folder = await freshFolder();
  writeFileSync(join(folder.path, 'process.json'), '{"owner":');
  writeFileSync(join(folder.path, '18.new'), 'half a cluster');
  await using postgres = await startPostgres({ dataDir: folder.path });
  expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test.each([0, 300, 1_000])(
  'a first start that is killed %i ms after it has begun is no obstacle to the next one',
  async (ms) => {
    await using folder = await freshFolder();
    const child = startIn(folder.path);
    while (!readdirSync(folder.path).some((name) => name.startsWith('18'))) await sleep(5);
    await sleep(ms); // its initdb does not hear of its end
    child.kill('SIGKILL');
    await once(child, 'exit');
    await using postgres = await startPostgres({ dataDir: folder.path });
    expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  },
);

test('a cluster without its database gets it', async () => {
  await using folder = await freshFolder();
  {
    await using first = await startPostgres({ dataDir: folder.path });
    await query(first.url.replace(/mayfly$/, 'postgres'), 'DROP DATABASE mayfly');
  }
  rmSync(join(folder.path, '18', 'mayfly-has-database'), { force: true }); // as after a start by an earlier version
  await using again = await startPostgres({ dataDir: folder.path });
  expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a cluster of an earlier version keeps its database, also when its server was killed', async () => {
  await using folder = await freshFolder();
  {
    await using first = await startPostgres({ dataDir: folder.path });
    await query(first.url, 'CREATE TABLE kept ()');
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
  }
  rmSync(join(folder.path, '18', 'mayfly-has-database'), { force: true });
  await using again = await startPostgres({ dataDir: folder.path });
  expect(await query(again.url, `SELECT to_regclass('kept')::text AS kept`)).toEqual([{ kept: 'kept' }]);
});

test('a port that is taken is a sentence with the reason from the log', async () => {
  const port = Number(new URL(testDatabaseUrl()).port || 5432);
  await expect(startPostgres({ port })).rejects.toThrow(/^PostgreSQL could not be started: .*Address already in use/);
});

test.runIf(process.getuid?.() === 0)('root can keep the data below a folder that is closed to others', async () => {
  await using folder = await freshFolder();
  chmodSync(folder.path, 0o700);
  const dataDir = join(folder.path, 'postgres');
  const said: string[] = [];
  await using cleanUp = new AsyncDisposableStack();
  {
    await using first = await startPostgres({ dataDir, say: (line) => said.push(line) });
    await query(first.url, 'CREATE TABLE kept ()');
    const [row] = await query(first.url, `SELECT current_setting('data_directory') AS folder`);
    const data = join(String(row?.folder), '..');
    cleanUp.defer(() => rm(data, { recursive: true }));
    expect(said.join()).toContain(data);
  }
  await using second = await startPostgres({ dataDir });
  expect(await query(second.url, `SELECT to_regclass('kept')::text AS kept`)).toEqual([{ kept: 'kept' }]);
});

test('fresh databases are apart from each other and gone after the test', async () => {
  let url = '';
  {
    await using one = await freshDatabase();
    await using two = await freshDatabase();
    await query(one.url, 'CREATE TABLE here ()');
    expect(await query(two.url, `SELECT to_regclass('here') AS here`)).toEqual([{ here: null }]);
    url = one.url;
  }
  await expect(query(url, 'SELECT 1')).rejects.toThrow(/does not exist/);
});
