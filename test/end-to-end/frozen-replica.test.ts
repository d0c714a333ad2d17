import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { untilHealthy } from '@mayfly/launcher/service';
import { unusedPort } from '@mayfly/local-stores/ports';
import { diskBlobs } from '@mayfly/testing/blobs';
import { type ServiceProcess, startReady } from '@mayfly/testing/shapes';
import { freshDatabase, freshFolder, freshRedis } from '@mayfly/testing/stores';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';

const PAYLOAD = Buffer.alloc(20_000_000, 1);

// Linux answers on every address of 127.0.0.0/8; replicas of one name need one port on several.
describe.skipIf(process.platform !== 'linux')('a replica that freezes', () => {
  const stack = new AsyncDisposableStack();
  const replicas: Record<'files' | 'notes', ServiceProcess[]> = { files: [], notes: [] };
  let gateway: ServiceProcess;
  let api: Api;

  beforeAll(async () => {
    const database = stack.use(await freshDatabase({ hasTables: true }));
    const redis = stack.use(await freshRedis());
    const blobs = stack.use(await diskBlobs());
    const folder = stack.use(await freshFolder());
    const stores = { DATABASE_URL: database.url, REDIS_URL: redis.url, ...blobs.settings };
    const start = (name: string, settings: Record<string, string>) =>
      startReady(stack, name, { ...stores, ...settings });
    const namesFile = join(folder.path, 'names.json');
    const addresses = ['127.0.0.51', '127.0.0.52'];
    writeFileSync(namesFile, JSON.stringify({ 'files.test': addresses, 'notes.test': addresses }));
    const ports = { files: String(await unusedPort()), notes: String(await unusedPort()) };
    for (const name of ['files', 'notes'] as const) {
      replicas[name] = await Promise.all(addresses.map((HOST) => start(name, { HOST, PORT: ports[name] })));
    }
    gateway = await start('gateway', {
      FILES_URL: `http://files.test:${ports.files}`,
      NOTES_URL: `http://notes.test:${ports.notes}`,
      TEST_NAMES: namesFile,
      NODE_OPTIONS: `--import ${join(import.meta.dirname, '../support/name-server.ts')}`,
    });
    await untilHealthy(gateway);
    api = new Api(gateway.url);
  });
  afterAll(() => stack.disposeAsync());

  const all = () => [...replicas.files, ...replicas.notes];
  const signal = (of: (ServiceProcess | undefined)[], name: 'SIGSTOP' | 'SIGCONT') => {
    for (const one of of) one?.child.kill(name);
  };
  const told = (msg: string) => gateway.output().split(`"${msg}"`).length - 1;
  const untilBack = (times: number) => untilTrue(() => told('a service is back') === times, 30_000);
  afterEach(() => signal(all(), 'SIGCONT'));

  /** Requests that a replica has answered, but for probes. */
  async function answered({ adminUrl }: ServiceProcess): Promise<number> {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    const counts = text.matchAll(/^http_server_request_duration_count\{.*\} (\d+)/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const view = ({ id, authToken }: { id: string; authToken: string }) => api.view(id, authToken);
  const timed = async (ask: () => Promise<{ status: number }>) => {
    const began = performance.now();
    const { status } = await ask();
    return { status, ms: performance.now() - began };
  };

  test('of 100 requests none hangs, the few that were caught are answered by another, and it gets its share again', async () => {
    const upload = await api.newUpload();
    const note = await api.newNote();
    signal([replicas.files[0], replicas.notes[0]], 'SIGSTOP');
    const answers = [];
    for (let i = 0; i < 25; i++) {
      const asked = [() => api.info(upload.id), () => api.note(note.id), () => api.exists(upload.id)];
      answers.push(...(await Promise.all([...asked, () => api.note(note.id)].map(timed))));
    }
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(8_000);
    expect(answers.filter(({ ms }) => ms > 1_000).length).toBeLessThan(10);
    // What counts, too, from here on.
    const views = await Promise.all(Array.from({ length: 10 }, () => timed(async () => view(await api.newNote()))));
    expect(views.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(Math.max(...views.map(({ ms }) => ms))).toBeLessThan(5_000);
    expect(told('a service is away')).toBe(2);

    signal(all(), 'SIGCONT');
    await untilBack(2);
    const before = await Promise.all(all().map(answered));
    for (let i = 0; i < 40; i++) await Promise.all([api.exists(upload.id), api.note(note.id)]);
    const after = await Promise.all(all().map(answered));
    for (const [i, count] of after.entries()) expect(count - (before[i] ?? 0)).toBeGreaterThan(10);
  });

  test('what counts and was caught is 504 within seconds, with a warning, and is sent to no other', async () => {
    const notes = await Promise.all(Array.from({ length: 8 }, () => api.newNote({ maxViews: 1 })));
    signal([replicas.notes[1]], 'SIGSTOP');
    const views = await Promise.all(notes.map((note) => timed(() => view(note))));
    const statuses = views.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 200, 504, 504, 504, 504]);
    expect(Math.max(...views.map(({ ms }) => ms))).toBeLessThan(20_000);
    await untilTrue(() => told('a service did not answer') === 4);
    signal(all(), 'SIGCONT');
    await untilBack(3);
  });

  test('transfers on the other one go on', async () => {
    const upload = await api.newUpload({ 'X-Max-Downloads': '3' }, PAYLOAD);
    // In turns: one on each replica. Neither is read until one of them is frozen.
    const sockets = [await openSocket(gateway.url), await openSocket(gateway.url)];
    for (const socket of sockets) {
      socket.write(requestHead(`GET /api/download/${upload.id}`, { 'X-Auth-Token': upload.authToken }));
      await new Promise((resolve) => socket.once('readable', resolve));
    }
    signal([replicas.files[0]], 'SIGSTOP');
    const bytes = sockets.map((socket) => {
      const count = { received: 0 };
      socket.on('data', (chunk: Buffer) => {
        count.received += chunk.length;
      });
      socket.resume();
      return count;
    });
    const isWhole = ({ received }: { received: number }) => received > PAYLOAD.length;
    await untilTrue(() => bytes.some(isWhole), 30_000);
    expect(bytes.every(isWhole)).toBe(false);
    for (let i = 0; i < 2; i++) expect((await api.info(upload.id)).status).toBe(200); // one of them finds out
    for (let i = 0; i < 4; i++) await api.newUpload({}, PAYLOAD.subarray(0, 1_000_000));
    signal(all(), 'SIGCONT');
    await untilTrue(() => bytes.every(isWhole), 30_000);
    for (const socket of sockets) socket.destroy();
  });
});
