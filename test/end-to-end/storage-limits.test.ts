import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type RunningShape, startShape } from '@mayfly/testing/shapes';
import { noSmallDisk, type SmallDisk, smallDisk } from '@mayfly/testing/small-disk';
import { query } from '@mayfly/testing/stores';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { beforeAll, describe, expect, test } from 'vitest';
import { Api, call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { RequestsApi, requestBody } from '../support/requests.ts';

const NO_ROOM_FOR_UPLOAD = { error: 'Not enough storage space for this upload' };
const NO_ROOM_FOR_NOTE = { error: 'Not enough storage space for this note' };
const NO_ROOM_FOR_REQUEST = { error: 'Not enough storage space for this request' };
const MIB = 1024 * 1024;

describeEachShape(
  'ceilings of what is stored',
  { STORAGE_MAX_BYTES: '1MiB', NOTES_MAX_BYTES: '100KiB', REQUESTS_STORAGE_MAX_BYTES: '100KiB' },
  (service) => {
    const heldBytes = async (statement: string) =>
      Number((await query(service.running.databaseUrl, statement))[0]?.bytes);
    const atOnce = <T>(create: (api: Api) => Promise<T>) =>
      Promise.all(
        Array.from({ length: 100 }, (_, index) => create(service.replicas[index % service.replicas.length] as Api)),
      );

    test('of 100 uploads at once over all replicas as many as fit are stored, the others are 507', async () => {
      const tokens = { authToken: token(), ownerToken: token() };
      const answers = await atOnce((api) => api.upload(randomBytes(50_000), uploadHeaders(tokens)));
      const stored = answers.filter(({ status }) => status === 200);
      expect(stored).toHaveLength(20);
      for (const { status, body, headers } of answers) {
        if (status === 200) continue;
        expect([status, body]).toEqual([507, NO_ROOM_FOR_UPLOAD]);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      }
      expect(await heldBytes('select sum(size) as bytes from files.uploads')).toBe(1_000_000);
      expect(await service.running.blobs.names()).toHaveLength(20);

      // What was not stored has left nothing behind, and what is deleted makes room at once.
      const rest = MIB - 1_000_000;
      expect((await service.api.upload(randomBytes(rest + 1), uploadHeaders(tokens))).status).toBe(507);
      expect((await service.api.upload(randomBytes(rest), uploadHeaders(tokens))).status).toBe(200);
      for (const { body } of stored) {
        expect((await service.api.deleteUpload(String(body.id), tokens.ownerToken)).status).toBe(200);
      }
      expect((await service.api.upload(randomBytes(1_000_000), uploadHeaders(tokens))).status).toBe(200);
      expect((await service.api.upload(randomBytes(1), uploadHeaders(tokens))).status).toBe(507);
    });

    test('without room everything else works', async () => {
      const { baseUrl } = service.api;
      expect((await call('GET', `${baseUrl}/api/config`)).status).toBe(200);
      const note = await service.api.newNote();
      expect((await service.api.view(note.id, note.authToken)).status).toBe(200);
      // The order of checks: what is wrong with a request is said first.
      expect((await service.api.upload(randomBytes(10), uploadHeaders({ authToken: '', ownerToken: '' }))).status).toBe(
        400,
      );
    });

    test('of 100 notes at once as many as fit are stored, the others are 507; a deleted one and a used-up one make room', async () => {
      const before = await heldBytes('select bytes from notes.storage');
      const ownerToken = token();
      const body = () => noteBody({ encryptedContent: randomBytes(6_000).toString('base64'), ownerToken });
      const answers = await atOnce((api) => api.createNote(body()));
      const stored = answers.filter(({ status }) => status === 201);
      expect(stored).toHaveLength(Math.floor((100 * 1024 - before) / 8_000));
      for (const { status, body, headers } of answers) {
        if (status === 201) continue;
        expect([status, body]).toEqual([507, NO_ROOM_FOR_NOTE]);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      }
      expect(
        await heldBytes('select sum(octet_length(encrypted_content)) as bytes from notes.notes'),
      ).toBeLessThanOrEqual(100 * 1024);
      expect((await service.api.deleteNote(String(stored[0]?.body.id), ownerToken)).status).toBe(200);
      const once = { ...body(), maxViews: 1 };
      const { body: created } = await service.api.createNote(once);
      expect((await service.api.createNote(body())).status).toBe(507);
      expect((await service.api.view(String(created.id), once.authToken)).status).toBe(200);
      // With the next sweep; until then what it held counts.
      await untilTrue(async () => (await service.api.createNote(body())).status === 201);
      // A ceiling that is reached is no fault.
      expect((await call('GET', `${service.api.baseUrl}/api/health`)).status).toBe(200);
    });

    test('of 100 requests at once as many as fit are made, the others are 507; a deleted one makes room, and what is dropped needs none', async () => {
      const asked = requestBody({ maxDrops: 1, greeting: undefined, nonce: undefined });
      const answers = await atOnce((api) => new RequestsApi(api).create(asked));
      const made = answers.filter(({ status }) => status === 201);
      const eachBytes = asked.publicKey.length + 2_048;
      expect(made).toHaveLength(Math.floor((100 * 1024) / eachBytes));
      for (const { status, body, headers } of answers) {
        if (status === 201) continue;
        expect([status, body]).toEqual([507, NO_ROOM_FOR_REQUEST]);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      }
      expect(await heldBytes('select bytes from files.request_storage')).toBe(made.length * eachBytes);

      const requests = new RequestsApi(service.api);
      const [first, second] = made.map(({ body }) => String(body.id));
      await query(service.running.databaseUrl, 'delete from files.uploads; update files.storage set bytes = 0');
      expect((await requests.drop(String(first), await requests.upload(10))).status).toBe(200);
      expect((await requests.remove(String(second), asked.ownerToken)).status).toBe(200);
      expect((await requests.create(asked)).status).toBe(201);
      expect((await requests.create(asked)).status).toBe(507);
    });
  },
);

describe.skipIf(noSmallDisk !== undefined)(`a small disk (${noSmallDisk ?? 'root, Linux'})`, () => {
  const SIZE = 64 * MIB;
  const FLOOR = SIZE / 10;
  let disk: SmallDisk;
  let running: RunningShape;
  let api: Api;
  beforeAll(async () => {
    disk = smallDisk(SIZE);
    running = await startShape('all', { BLOB_DIR: join(disk.path, 'blobs') });
    api = new Api(running.baseUrl);
    return async () => {
      await running[Symbol.asyncDispose]();
      await disk[Symbol.asyncDispose]();
    };
  });

  const tokens = { authToken: token(), ownerToken: token() };
  const upload = (bytes: number, changes = {}) => api.upload(Buffer.alloc(bytes, 7), uploadHeaders(tokens, changes));
  const health = () => call('GET', `${running.baseUrl}/api/health`);
  const filler = () => join(disk.path, 'filler');
  const names = () =>
    readdirSync(join(disk.path, 'blobs'), { recursive: true }).flatMap((name) =>
      String(name).endsWith('.bin') ? String(name) : [],
    );
  const idsOf = (bytes: number) =>
    names()
      .filter((name) => statSync(join(disk.path, 'blobs', name)).size === bytes)
      .map((name) => basename(name, '.bin'));

  test('uploads leave the floor alone, however many come at once; health says that nothing can be uploaded', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => upload(MIB)));
    const stored = answers.filter(({ status }) => status === 200).length;
    expect(stored).toBe(Math.floor((SIZE - FLOOR) / MIB));
    for (const { status, body } of answers)
      if (status !== 200) expect([status, body]).toEqual([507, NO_ROOM_FOR_UPLOAD]);
    expect(names()).toHaveLength(stored);
    for (const bytes of [MIB / 2, MIB / 4, MIB / 8, MIB / 16, MIB / 32]) await upload(bytes);
    while ((await upload(4_096)).status === 200);
    await untilTrue(async () => (await health()).status === 503);
    expect((await health()).body).toMatchObject({ components: { files: 'down', notes: 'ok', redis: 'ok' } });
    // Everything else goes on.
    const note = await api.newNote();
    expect((await api.view(note.id, note.authToken)).status).toBe(200);
    const id = String(answers.find(({ status }) => status === 200)?.body.id);
    expect((await api.download(id, tokens.authToken)).status).toBe(200);
    const admin = running.processes[0]?.adminUrl;
    expect((await fetch(`${admin}/livez`)).status).toBe(200);
  });

  test('a client that asks first is not told to send a body that does not fit', async () => {
    const socket = await openSocket(running.baseUrl);
    const headers = { ...uploadHeaders(tokens), 'Content-Length': String(MIB), Expect: '100-continue' };
    socket.write(requestHead('POST /api/upload', headers));
    const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 507 /);
  });

  test('what expires makes room', async () => {
    for (const id of idsOf(MIB).slice(0, 6)) await api.deleteUpload(id, tokens.ownerToken);
    expect((await upload(5 * MIB, { 'X-Expire-Sec': '1' })).status).toBe(200);
    await untilTrue(async () => (await health()).status === 200); // what was seen a moment ago is told again
    await untilTrue(async () => (await upload(6 * MIB)).status === 200, 15_000);
  });

  test('a disk that others fill to the last byte: 507, nothing half written is left, and it heals by itself', async () => {
    const before = names().length;
    try {
      for (;;) writeFileSync(filler(), Buffer.alloc(MIB), { flag: 'a' });
    } catch {
      // full
    }
    expect([507, NO_ROOM_FOR_UPLOAD]).toEqual([(await upload(100)).status, (await upload(100)).body]);
    expect(names()).toHaveLength(before);
    expect((await api.deleteUpload(String(idsOf(MIB)[0]), tokens.ownerToken)).status).toBe(200);
    expect(names()).toHaveLength(before - 1);
    rmSync(filler());
    await untilTrue(async () => (await upload(100)).status === 200);
    expect((await health()).status).toBe(200);
  });
});
