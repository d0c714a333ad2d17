import { setTimeout as sleep } from 'node:timers/promises';
import { inSuite } from '@mayfly/testing/in-suite';
import { untilReady } from '@mayfly/testing/shapes';
import type { Moment } from '@mayfly/testing/triggering-proxy';
import { openSocket, requestHead } from '@mayfly/testing/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Api, META, token, uploadHeaders } from '../support/api.ts';
import { NOTHING, openCrashSite } from '../support/crash-site.ts';
import { type Begun, PART, PartsApi, payloadOf } from '../support/parts.ts';

// One replica is killed (SIGKILL) before or after each step of an upload in parts, and the other one goes on.

const BEGIN = 'insert into files.upload_sessions';
const RECORD = 'insert into files.upload_parts';
const SEAL = 'update files.upload_sessions s set seal';
const PUBLISH = 'seal is not null and exists (select from upload) for update';
const CANCEL = 'insert into files.blob_deletions (id, due_at, attempts';

describe.each(['disk', 'S3'] as const)('crashes of uploads in parts (%s)', (kind) => {
  const site = inSuite(() => openCrashSite(kind));
  const first = inSuite(() => site().start('files'));
  const second = inSuite(() => site().start('files'));
  const doomed = () => new PartsApi(new Api(first().url));
  const other = () => new PartsApi(new Api(second().url));

  beforeEach(async () => {
    site().toDatabase.drop(); // a statement's text passes once per connection
    await sleep(100); // until the processes have noticed
    if (first().child.exitCode !== null || first().child.signalCode !== null) first().restart();
    await Promise.all([untilReady(first()), untilReady(second())]);
  });

  afterEach(async () => {
    expect(await site().broken()).toEqual([]);
    await site().untilQuiet();
    // What was coming in parts is deleted twice.
    for (let i = 0; i < 3; i++) {
      await site().letTimePass();
      await site().sweep();
    }
    expect(await site().leftOver()).toEqual(NOTHING);
    expect(await site().query('select id from files.upload_sessions')).toEqual([]);
    expect(await site().query('select id from files.upload_parts')).toEqual([]);
    expect(await site().broken()).toEqual([]);
  });

  const sites = { database: () => site().toDatabase, store: () => site().toBlobs };

  /** Kills the first replica the moment the text passes on its way to a store; its client sees a broken connection. */
  async function killedAt(to: keyof typeof sites, text: string, moment: Moment, work: () => Promise<unknown>) {
    const killed = sites[to]()?.when(text, moment, () => first().child.kill('SIGKILL'));
    await Promise.all([killed, expect(work()).rejects.toThrow()]);
  }

  const complete = (api: PartsApi, { id, ownerToken, payload }: Begun) =>
    api.complete(id, ownerToken, { length: payload.length, ...META });

  /** The other replica says what is missing, takes it, and completes the upload: it is what its sender meant. */
  async function goesOn(upload: Begun) {
    const { id, ownerToken, payload, authToken } = upload;
    const { body } = await other().state(id, ownerToken);
    if (body.state === 'open') {
      const stored = String(body.stored);
      const has = (number: number) =>
        stored.split(',').some((range) => {
          const [from = 0, to = from] = range.split('-').map(Number);
          return from <= number && number <= to;
        });
      for (const number of [1, 2, 3]) if (!has(number)) expect((await other().send(upload, number)).status).toBe(200);
    }
    expect((await complete(other(), upload)).status).toBe(200);
    const download = await other().api.download(id, authToken);
    expect((download.body.bytes as Buffer).equals(payload)).toBe(true);
    expect((await other().api.info(id)).body).toMatchObject(META);
    expect((await site().blobs.names()).filter((name) => name.includes(id))).toEqual([`${id}.bin`]);
    expect((await other().api.deleteUpload(id, ownerToken)).status).toBe(200);
  }

  /** All parts are there. */
  async function full() {
    const upload = await doomed().begun(payloadOf(3));
    for (const number of [1, 2, 3]) expect((await doomed().send(upload, number)).status).toBe(200);
    return upload;
  }

  test.each(['before', 'after'] as const)(
    '%s its session is recorded: nobody knows of it, and nothing stays',
    async (moment) => {
      const tokens = { authToken: token(), ownerToken: token() };
      const headers = uploadHeaders(tokens, { 'X-Upload-Length': '1000', 'X-Part-Bytes': String(PART) });
      await killedAt('database', BEGIN, moment, () => doomed().begin(headers));
    },
  );

  test.each(['before', 'after'] as const)('%s a part is recorded', async (moment) => {
    const upload = await doomed().begun(payloadOf(3));
    await doomed().send(upload, 2);
    site().toDatabase.drop();
    await sleep(100);
    await killedAt('database', RECORD, moment, () => doomed().send(upload, 1));
    await goesOn(upload);
  });

  test('in the middle of the bytes of a part', async () => {
    const upload = await doomed().begun(payloadOf(3));
    await doomed().send(upload, 2);
    const socket = await openSocket(first().url);
    const head = { 'X-Owner-Token': upload.ownerToken, 'Content-Length': String(PART) };
    socket.write(requestHead(`POST /api/parts/${upload.id}/1`, head));
    socket.write(upload.payload.subarray(0, 1_000_000));
    await sleep(500);
    await first().stop('SIGKILL');
    socket.destroy();
    await goesOn(upload);
  });

  test.each(['before', 'after'] as const)('%s it is sealed', async (moment) => {
    const upload = await full();
    await killedAt('database', SEAL, moment, () => complete(doomed(), upload));
    await goesOn(upload);
  });

  test.skipIf(kind === 'disk').each(['before', 'after'] as const)(
    '%s the store has put it together (S3: a disk has no request to wait for)',
    async (moment) => {
      const upload = await full();
      await killedAt('store', 'CompleteMultipartUpload', moment, () => complete(doomed(), upload));
      await goesOn(upload);
    },
  );

  test.each(['before', 'after'] as const)('%s it is published', async (moment) => {
    const upload = await full();
    await killedAt('database', PUBLISH, moment, () => complete(doomed(), upload));
    await goesOn(upload);
  });

  test.each(['before', 'after'] as const)('%s it is cancelled', async (moment) => {
    const upload = await full();
    await killedAt('database', CANCEL, moment, () => doomed().cancel(upload.id, upload.ownerToken));
    expect((await other().cancel(upload.id, upload.ownerToken)).status).toBe(moment === 'before' ? 200 : 404);
  });

  test('sealed, and its sender never comes back: it goes with the end of its session', async () => {
    const upload = await full();
    await killedAt('database', PUBLISH, 'before', () => complete(doomed(), upload));
  });

  test('at random, again and again, while parts are sent through both replicas', { timeout: 120_000 }, async () => {
    let isOver = false;
    const killer = (async () => {
      while (!isOver) {
        await sleep(300 + Math.random() * 700);
        if (isOver) return;
        await first().stop('SIGKILL');
        first().restart();
        await untilReady(first());
      }
    })();
    const repeatedly = async (work: (api: PartsApi) => Promise<{ status: number }>) => {
      for (let tries = 0; tries < 100; tries++) {
        const status = await work(tries % 3 === 2 ? other() : doomed()).then(
          (answer) => answer.status,
          () => 0, // the process was killed under it
        );
        if (status === 200) return;
        await sleep(100);
      }
      throw new Error('it never succeeded');
    };
    const send = async () => {
      const upload = await other().begun(payloadOf(3));
      await Promise.all([1, 2, 3].map((number) => repeatedly((api) => api.send(upload, number))));
      await repeatedly((api) => complete(api, upload));
      const download = await other().api.download(upload.id, upload.authToken);
      expect((download.body.bytes as Buffer).equals(upload.payload)).toBe(true);
      expect((await other().api.deleteUpload(upload.id, upload.ownerToken)).status).toBe(200);
    };
    for (let round = 0; round < 3; round++) await Promise.all([send(), send(), send()]);
    isOver = true;
    await killer;
  });
});
