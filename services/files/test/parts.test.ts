import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '@mayfly/shared/config';
import { NoRoom, Unavailable } from '@mayfly/shared/errors';
import { ownerSettings, requestSettings, uploadSettings } from '@mayfly/shared/settings';
import { type BlobParts, PartsGone, PartsRefused } from '@mayfly/store/blob-parts';
import { memoryBlobs } from '@mayfly/store/memory/blobs';
import { memoryDownloadLeases } from '@mayfly/store/memory/download-leases';
import { memoryFileRequests } from '@mayfly/store/memory/file-requests';
import { memoryOwnedUploads } from '@mayfly/store/memory/owned-items';
import { memoryUploadSessions } from '@mayfly/store/memory/upload-sessions';
import { memoryUploads } from '@mayfly/store/memory/uploads';
import type { UploadSessions } from '@mayfly/store/upload-sessions';
import type { NewUpload } from '@mayfly/store/uploads';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { buildFiles } from '../src/index.ts';

// Uploads in parts on stores that fail in one way each.

const PART = 1_000;
const given = { EXPIRE_OPTIONS_SEC: '60', DOWNLOAD_OPTIONS: '1', UPLOAD_PART_BYTES_MIN: '10' };
const token = () => randomBytes(32).toString('base64url');

type Faults = { parts?: Partial<BlobParts>; sessions?: Partial<UploadSessions> };

/** The service, and an upload of three parts that has begun there. */
async function start(
  faults: (held: { parts: BlobParts; sessions: UploadSessions }) => Faults = () => ({}),
  ceiling: { maxBytes?: number } = {},
) {
  const uploads = memoryUploads(Date.now, ceiling);
  const held = memoryBlobs();
  const ownSessions = memoryUploadSessions(uploads);
  const own = { parts: held.parts, sessions: ownSessions };
  const { parts, sessions } = faults(own);
  const app = buildFiles({
    uploads,
    leases: memoryDownloadLeases(uploads),
    owned: memoryOwnedUploads(uploads),
    requests: memoryFileRequests(),
    sessions: { ...ownSessions, ...sessions },
    blobs: { ...held, parts: { ...held.parts, ...parts } },
    limits: loadConfig({ ...uploadSettings, ...ownerSettings, ...requestSettings }, given),
    logger: pino({ level: 'silent' }),
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const [ownerToken, payload] = [token(), randomBytes(2 * PART + 10)];
  const call = async (method: string, path: string, options: { body?: Buffer | string; headers?: object } = {}) => {
    const headers = { 'x-owner-token': ownerToken, ...options.headers };
    const answer = await fetch(`${url}/api/parts${path}`, { method, ...options, headers } as RequestInit);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
  };
  const begun = await call('POST', '', {
    headers: {
      'x-auth-token': token(),
      'x-salt': randomBytes(16).toString('base64url'),
      'x-max-downloads': '1',
      'x-expire-sec': '60',
      'x-file-count': '1',
      'x-has-password': 'false',
      'x-upload-length': String(payload.length),
      'x-part-bytes': String(PART),
    },
  });
  const id = String(begun.body.id);
  const partOf = (number: number) => payload.subarray((number - 1) * PART, number * PART);
  const send = (number: number) => call('POST', `/${id}/${number}`, { body: partOf(number) });
  /** So many bytes of a part, and nothing more. */
  async function sendSome(number: number, bytes: number, length = PART) {
    const socket = await openSocket(url);
    const head = { 'X-Owner-Token': ownerToken, 'Content-Length': String(length) };
    socket.write(requestHead(`POST /api/parts/${id}/${number}`, head));
    socket.write(partOf(number).subarray(0, bytes));
    const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    return { socket, answer };
  }
  const complete = () =>
    call('POST', `/${id}/complete`, {
      body: JSON.stringify({ length: payload.length }),
      headers: { 'content-type': 'application/json' },
    });
  const state = async () => (await call('GET', `/${id}`)).body.state;
  const close = async () => app.close();
  return {
    id,
    begun,
    payload,
    held,
    uploads,
    send,
    sendSome,
    complete,
    state,
    cancel: () => call('DELETE', `/${id}`),
    [Symbol.asyncDispose]: close,
  };
}

test('a store that takes long to complete: 202, and 200 for whoever asks again; it was asked once', async () => {
  let asked = 0;
  await using site = await start(({ parts }) => ({
    parts: {
      async complete(...of) {
        asked += 1;
        await sleep(9_000);
        await parts.complete(...of);
      },
    },
  }));
  for (const number of [1, 2, 3]) await site.send(number);
  const first = await site.complete();
  expect([first.status, first.body, first.headers.get('retry-after')]).toEqual([202, { state: 'completing' }, '2']);
  expect(await site.state()).toBe('completing');
  const late = await site.send(2);
  expect([late.status, late.body]).toEqual([409, { error: 'Upload is being completed' }]);
  expect((await site.complete()).status).toBe(200);
  expect(asked).toBe(1);
  expect(site.held.held.get(site.id)?.equals(site.payload)).toBe(true);
}, 30_000);

test('a store that does not have a part as it was recorded: 409 with its number, and it can be sent again', async () => {
  let isLost = true;
  await using site = await start(({ parts }) => ({
    parts: {
      async complete(...of) {
        if (isLost) throw new PartsRefused([2]);
        await parts.complete(...of);
      },
    },
  }));
  for (const number of [1, 2, 3]) await site.send(number);
  const refused = await site.complete();
  expect([refused.status, refused.body]).toEqual([409, { error: 'Parts are missing', missing: '2' }]);
  expect(await site.state()).toBe('open');
  isLost = false;
  expect((await site.send(2)).status).toBe(200);
  expect((await site.complete()).status).toBe(200);
});

test.each(['put', 'complete'] as const)(
  'a store that has forgotten the parts at %s: 410, to begin anew',
  async (where) => {
    await using site = await start(() => ({
      parts: {
        [where]: async () => {
          throw new PartsGone();
        },
      },
    }));
    const sent = await site.send(1);
    for (const number of [2, 3]) await site.send(number);
    const answer = where === 'put' ? sent : await site.complete();
    expect([answer.status, answer.body]).toEqual([410, { error: 'Upload session has ended' }]);
  },
);

test.each([
  ['the blob store', 'put'],
  ['the table', 'record'],
] as const)('%s is away: 503, the part is not stored, and is when it is sent again', async (_, where) => {
  let isAway = true;
  await using site = await start(({ parts, sessions }) => {
    const away = async () => {
      if (isAway) throw new Unavailable('away');
    };
    const { put } = parts;
    const { record } = sessions;
    return where === 'put'
      ? { parts: { put: (...of) => away().then(() => put(...of)) } }
      : { sessions: { record: (...of) => away().then(() => record(...of)) } };
  });
  expect((await site.send(1)).status).toBe(503);
  isAway = false;
  for (const number of [1, 2, 3]) expect((await site.send(number)).status).toBe(200);
  expect((await site.complete()).status).toBe(200);
});

test('a disk that is full: 507, and what was stored stays', async () => {
  let isFull = false;
  await using site = await start(({ parts }) => ({
    parts: {
      async put(...of) {
        if (isFull) throw new NoRoom('full');
        return parts.put(...of);
      },
    },
  }));
  await site.send(1);
  isFull = true;
  const full = await site.send(2);
  expect([full.status, full.body]).toEqual([507, { error: 'Not enough storage space for this upload' }]);
  isFull = false;
  for (const number of [2, 3]) await site.send(number);
  expect((await site.complete()).status).toBe(200);
});

test('a part that was stored while its upload was cancelled: 404, and what it left is forgotten', async () => {
  const aborted: string[] = [];
  const stored = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using site = await start(({ parts }) => ({
    parts: {
      async put(...of) {
        const tag = await parts.put(...of);
        stored.resolve();
        await goOn.promise;
        return tag;
      },
      async abort(id, ref) {
        aborted.push(id);
        await parts.abort(id, ref);
      },
    },
  }));
  const late = site.send(1);
  await stored.promise;
  expect((await site.cancel()).status).toBe(200);
  goOn.resolve();
  const { status, body } = await late;
  expect([status, body]).toEqual([404, { error: 'Upload not found' }]);
  expect(aborted).toEqual([site.id, site.id]);
});

test.each([
  [new NoRoom('full'), 507],
  [new Unavailable('away'), 503],
])('a table that does not take the session (%s): nothing of it is left in the blob store', async (error, status) => {
  await using site = await start(() => ({
    sessions: {
      async begin() {
        throw error;
      },
    },
  }));
  expect(site.begun.status).toBe(status);
  expect(site.held.parts.coming.size).toBe(0);
});

describe('below a ceiling', () => {
  type Site = Awaited<ReturnType<typeof start>>;
  const open = (faults?: Parameters<typeof start>[0]) => start(faults, { maxBytes: 3 * PART });
  const isHeld = ({ uploads }: Site, bytes: number) => uploads.heldBytes() === bytes;

  test('a session holds what is stored and what is coming; a part without room is 507 and can be sent again', async () => {
    await using site = await open();
    expect(isHeld(site, 0)).toBe(true);
    for (const _ of ['first', 'in its place']) expect((await site.send(1)).status).toBe(200);
    expect(isHeld(site, PART)).toBe(true);
    const broken = await site.sendSome(3, 1, 10);
    await untilTrue(() => isHeld(site, PART + 10));
    broken.socket.destroy();
    await untilTrue(() => isHeld(site, PART));

    const other = { ...[...site.uploads.rows.values()][0], id: randomUUID(), sizeBytes: 2 * PART - 9 };
    await site.uploads.begin(other as NewUpload, 60);
    const full = await site.send(3);
    expect([full.status, full.body]).toEqual([507, { error: 'Not enough storage space for this upload' }]);
    expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
    await site.uploads.abandon(other.id);
    await site.uploads.blobsDeleted([other.id]);
    for (const number of [2, 3]) expect((await site.send(number)).status).toBe(200);
    expect((await site.complete()).status).toBe(200);
    expect(isHeld(site, site.payload.length)).toBe(true);
  });
});
