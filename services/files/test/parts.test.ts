import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { NoRoom, Unavailable } from '@mayfly/shared/errors';
import { type BlobParts, PartsGone, PartsRefused } from '@mayfly/store/blob-parts';
import type { UploadSessions } from '@mayfly/store/upload-sessions';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { startFiles, token, uploadHeaders } from './start-files.ts';

// Uploads in parts on stores that fail in one way each.

const PART = 1_000;

type Faults = { parts?: Partial<BlobParts>; sessions?: Partial<UploadSessions> };

/** The service, and an upload of three parts that has begun there. */
async function start(
  faults: (held: { parts: BlobParts; sessions: UploadSessions }) => Faults = () => ({}),
  ceiling: { maxBytes?: number } = {},
) {
  const service = await startFiles(({ blobs: held, sessions: ownSessions }) => {
    const { parts, sessions } = faults({ parts: held.parts, sessions: ownSessions });
    return { blobs: { parts: { ...held.parts, ...parts } }, sessions: sessions ?? {} };
  }, ceiling);
  const { url } = service;
  const [ownerToken, payload] = [token(), randomBytes(2 * PART + 10)];
  const call = async (method: string, path: string, options: { body?: Buffer | string; headers?: object } = {}) => {
    const headers = { 'x-owner-token': ownerToken, ...options.headers };
    const answer = await fetch(`${url}/api/parts${path}`, { method, ...options, headers } as RequestInit);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
  };
  const begun = await call('POST', '', {
    headers: {
      ...uploadHeaders(),
      'x-owner-token': ownerToken,
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
  return {
    ...service,
    id,
    begun,
    payload,
    send,
    sendSome,
    complete,
    state,
    cancel: () => call('DELETE', `/${id}`),
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
  expect((await site.held.read(site.id, site.payload.length))?.equals(site.payload)).toBe(true);
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
  expect(await site.storedNames()).toEqual([]);
});

describe('below a ceiling', () => {
  type Site = Awaited<ReturnType<typeof start>>;
  const open = (faults?: Parameters<typeof start>[0]) => start(faults, { maxBytes: 3 * PART });
  const isHeld = async (site: Site, bytes: number) => (await site.heldBytes()) === bytes;

  test('a session holds what is stored and what is coming; a part without room is 507 and can be sent again', async () => {
    await using site = await open();
    expect(await isHeld(site, 0)).toBe(true);
    for (const _ of ['first', 'in its place']) expect((await site.send(1)).status).toBe(200);
    expect(await isHeld(site, PART)).toBe(true);
    const broken = await site.sendSome(3, 1, 10);
    await untilTrue(() => isHeld(site, PART + 10));
    broken.socket.destroy();
    await untilTrue(() => isHeld(site, PART));

    const hashes = { authHash: randomBytes(32), ownerHash: randomBytes(32) };
    const terms = { salt: '', sizeBytes: 2 * PART - 9, fileCount: 1, maxDownloads: 1, expireSec: 60 };
    const other = { id: randomUUID(), ...hashes, ...terms };
    await site.uploads.begin(other, 60);
    const full = await site.send(3);
    expect([full.status, full.body]).toEqual([507, { error: 'Not enough storage space for this upload' }]);
    expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
    await site.uploads.abandon(other.id);
    await site.uploads.blobsDeleted([other.id]);
    for (const number of [2, 3]) expect((await site.send(number)).status).toBe(200);
    expect((await site.complete()).status).toBe(200);
    expect(await isHeld(site, site.payload.length)).toBe(true);
  });
});
