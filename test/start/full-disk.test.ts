import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopServersBelow } from '@mayfly/local-stores/own-folder';
import { unusedPort } from '@mayfly/local-stores/ports';
import { noSmallDisk, type SmallDisk, smallDisk } from '@mayfly/testing/small-disk';
import { untilTrue } from '@mayfly/testing/wire';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { Api, call, noteBody, token, uploadHeaders } from '../support/api.ts';

// npm start with everything on one small disk, which others fill to the last byte.

const root = fileURLToPath(new URL('../..', import.meta.url));
const MIB = 1024 * 1024;

describe.skipIf(noSmallDisk !== undefined)(`npm start on a full disk (${noSmallDisk ?? 'root, Linux'})`, () => {
  let disk: SmallDisk;
  let port: number;
  let api: Api;
  let child: ChildProcess;
  let output = '';

  const start = async () => {
    child = spawn(process.execPath, [join(root, 'scripts/start.ts')], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        MAYFLY_DATA_DIR: disk.path,
        HOST: '127.0.0.1',
        PORT: String(port),
        RATE_LIMIT_MAX: '0',
        REDIS_TIMEOUT_MS: '2000',
        CLEANUP_INTERVAL_SEC: '1',
        EXPIRE_OPTIONS_SEC: '3600',
        DRAIN_GRACE_MS: '1000',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const before = output.length;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text) => {
        output += text;
      });
    }
    await untilTrue(() => {
      if (child.exitCode !== null) throw new Error(`it ended: ${output}`);
      return output.slice(before).includes('Mayfly is ready');
    }, 60_000);
  };
  beforeAll(async () => {
    disk = smallDisk(300 * MIB);
    port = await unusedPort();
    api = new Api(`http://127.0.0.1:${port}`);
    await start();
    return async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
      await stopServersBelow(disk.path);
      await disk[Symbol.asyncDispose]();
    };
  });

  const tokens = { authToken: token(), ownerToken: token() };
  const upload = async (bytes: number) =>
    api.upload(Buffer.alloc(bytes, 7), uploadHeaders(tokens)).catch(() => undefined);
  const { ownerToken } = tokens;
  const note = () =>
    api.createNote(noteBody({ encryptedContent: Buffer.alloc(600_000, 7).toString('base64'), ownerToken }));
  const down = async () => {
    const { body } = await call('GET', `${api.baseUrl}/api/health`);
    return Object.entries(body.components as Record<string, string>).flatMap(([name, is]) => (is === 'ok' ? [] : name));
  };
  const free = () => statfsSync(disk.path).bavail * statfsSync(disk.path).bsize;
  const stored = () => readdirSync(join(disk.path, 'blobs'), { recursive: true }).length;
  let fillers = 0;
  const fillUp = () => {
    fillers += 1;
    try {
      for (;;) writeFileSync(join(disk.path, `filler-${fillers}`), Buffer.alloc(256 * 1024), { flag: 'a' });
    } catch {
      // full
    }
  };
  const upToTheLastByte = async () => {
    fillUp();
    await untilTrue(() => free() > 0 || !readdirSync(disk.path).includes('reserve-for-sweeps'));
    fillUp();
    expect(free()).toBe(0);
  };
  const inDatabase = async (work: (client: pg.Client) => Promise<unknown>) => {
    const { DATABASE_URL } = JSON.parse(readFileSync(join(disk.path, 'running-stores.json'), 'utf8'));
    const patience = { query_timeout: 5_000, connectionTimeoutMillis: 5_000 };
    const client = new pg.Client({ connectionString: DATABASE_URL, ...patience });
    client.on('error', () => {}); // it died
    await client.connect();
    try {
      await work(client);
    } finally {
      client.end().catch(() => {}); // never answered by one that has died
    }
  };
  /** PostgreSQL's log takes more and more, until there is no room for its next piece. */
  const growLog = async () => {
    const message = "select pg_logical_emit_message(false, 'test', repeat('x', 1000000))";
    const grow = async (client: pg.Client) => {
      for (let count = 0; count < 40; count++) await client.query(message);
    };
    await expect(inDatabase(grow)).rejects.toThrow();
    await untilTrue(() => output.includes('PostgreSQL ended'), 20_000);
  };
  const ids: string[] = [];

  test('uploads end with 507 while there is room for everything else', async () => {
    for (let answer = await upload(4 * MIB); answer?.status !== 507; answer = await upload(4 * MIB)) {
      expect(answer?.status).toBe(200);
      ids.push(String(answer?.body.id));
    }
    expect(free()).toBeGreaterThan(20 * MIB);
    expect((await note()).status).toBe(201);
    expect(await down()).not.toContain('notes');
  });

  test('filled by others to the last byte: PostgreSQL dies and comes back, and what is due is forgotten', async () => {
    await upToTheLastByte();
    expect((await upload(100))?.status).toBe(507);
    expect((await api.info(String(ids[0]))).status).toBe(200);
    await growLog();
    await untilTrue(() => output.includes('PostgreSQL is running again'), 30_000);
    await untilTrue(async () => !(await down().catch(() => ['notes'])).includes('notes'), 30_000);
    const [before, due] = [stored(), ids.splice(0, 10)];
    await inDatabase((client) =>
      client.query('update files.uploads set expires_at = now(), due_at = now() where id = any($1)', [due]),
    );
    await untilTrue(() => stored() === before - due.length, 30_000);
    await untilTrue(async () => (await down()).length === 0, 30_000);
    expect((await upload(100))?.status).toBe(200);
  });

  test('killed and started again on the full disk: it starts, and what its owner deletes is gone', async () => {
    await untilTrue(() => readdirSync(disk.path).includes('reserve-for-start'), 20_000);
    await upToTheLastByte();
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await start();
    expect(await down()).toEqual(['files']);
    expect(output).toContain('Not everything works yet: files');
    for (const id of ids.splice(0, 5)) expect((await api.deleteUpload(id, tokens.ownerToken)).status).toBe(200);
    expect(free()).toBeGreaterThan(4 * MIB);
  });

  test('with room again everything is well by itself', async () => {
    for (let index = 1; index <= fillers; index++) rmSync(join(disk.path, `filler-${index}`), { force: true });
    await untilTrue(async () => (await upload(4 * MIB))?.status === 200, 30_000);
    expect((await note()).status).toBe(201);
    await untilTrue(async () => (await down()).length === 0);
    await untilTrue(() => readdirSync(disk.path).includes('reserve-for-start'));
  });
});
