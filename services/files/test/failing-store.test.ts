import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { loadConfig } from '@mayfly/shared/config';
import { Unavailable } from '@mayfly/shared/errors';
import { ownerSettings, requestSettings, uploadSettings } from '@mayfly/shared/settings';
import { type BlobStore, KeptWaiting } from '@mayfly/store/blobs';
import { memoryBlobs } from '@mayfly/store/memory/blobs';
import { memoryDownloadLeases } from '@mayfly/store/memory/download-leases';
import { memoryFileRequests } from '@mayfly/store/memory/file-requests';
import { memoryOwnedUploads } from '@mayfly/store/memory/owned-items';
import { memoryUploadSessions } from '@mayfly/store/memory/upload-sessions';
import { memoryUploads } from '@mayfly/store/memory/uploads';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { buildFiles } from '../src/index.ts';

const token = () => randomBytes(32).toString('base64url');
const limits = loadConfig(
  { ...uploadSettings, ...ownerSettings, ...requestSettings },
  { EXPIRE_OPTIONS_SEC: '60', DOWNLOAD_OPTIONS: '1' },
);

/** The service with a blob store that fails in one way, listening. */
async function start(faults: Partial<BlobStore>) {
  const uploads = memoryUploads();
  const held = memoryBlobs();
  const app = buildFiles({
    uploads,
    leases: memoryDownloadLeases(uploads),
    owned: memoryOwnedUploads(uploads),
    requests: memoryFileRequests(),
    sessions: memoryUploadSessions(uploads),
    blobs: { ...held, ...faults },
    limits,
    logger: pino({ level: 'silent' }),
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, url, uploads, held };
}

const headers = (authToken: string, ownerToken: string) => ({
  'x-auth-token': authToken,
  'x-owner-token': ownerToken,
  'x-salt': randomBytes(16).toString('base64url'),
  'x-max-downloads': '1',
  'x-expire-sec': '60',
  'x-file-count': '1',
  'x-has-password': 'false',
});

async function upload(url: string, body: Buffer) {
  const [authToken, ownerToken] = [token(), token()];
  const answer = await fetch(`${url}/api/upload`, { method: 'POST', body, headers: headers(authToken, ownerToken) });
  const json = (await answer.json()) as { id: string; error?: string };
  return { status: answer.status, json, id: json.id, authToken, ownerToken };
}

test('a store that fails in the middle of an upload: 503 that the sender sees, and nothing is left', async () => {
  const taken: string[] = [];
  const { app, url, uploads, held } = await start({
    async put(id, body) {
      taken.push(id);
      for await (const _ of body) throw new Unavailable('disk full');
    },
  });
  await using _ = app;
  const { status, json } = await upload(url, randomBytes(9_000_000));
  expect([status, json]).toEqual([503, { error: 'Service unavailable' }]);
  expect(await uploads.publish(taken[0] ?? '')).toBe(false);
  expect(held.held.size).toBe(0);
  expect((await fetch(`${url}/readyz`)).status).toBe(200); // the connection and the service go on
});

test('a payload that the store puts away after it was given up is deleted by the sweep', async () => {
  let putAway = () => {};
  const { app, url, uploads, held } = await start({
    async put(id, body) {
      const chunks = await Array.fromAsync(body);
      putAway = () => void held.held.set(id, Buffer.concat(chunks));
      throw new Unavailable('no answer in time');
    },
  });
  await using _ = app;
  expect((await upload(url, Buffer.from('x'))).status).toBe(503);
  putAway();
  const queued = await uploads.takeDeletions(10);
  expect(queued).toEqual([...held.held.keys()]);
  expect(queued).toHaveLength(1);
});

test('a blob delete that fails does not change the answer, and the blob is queued for deletion', async () => {
  const { app, url, uploads } = await start({ delete: async (ids) => ids });
  await using _ = app;
  const { id, ownerToken } = await upload(url, Buffer.from('x'));
  const remove = () => fetch(`${url}/api/upload/${id}`, { method: 'DELETE', headers: { 'x-owner-token': ownerToken } });
  expect((await remove()).status).toBe(200);
  expect((await remove()).status).toBe(404);
  expect(await uploads.takeDeletions(10)).toEqual([id]);
});

test('a blob delete that throws does not change the answer either', async () => {
  const failing = async () => {
    throw new Unavailable('no answer');
  };
  const { app, url, uploads } = await start({ delete: failing });
  await using _ = app;
  const { id, ownerToken } = await upload(url, Buffer.from('x'));
  const answer = await fetch(`${url}/api/upload/${id}`, { method: 'DELETE', headers: { 'x-owner-token': ownerToken } });
  expect(await answer.json()).toEqual({ ok: true });
  expect(await uploads.takeDeletions(10)).toEqual([id]);
});

test('a download that breaks off at the store breaks the connection and is given back', async () => {
  const { app, url, uploads } = await start({
    open: async () =>
      Readable.from(
        (async function* () {
          yield Buffer.alloc(10);
          throw new Error('disk gone');
        })(),
      ),
  });
  await using _ = app;
  const { id, authToken } = await upload(url, Buffer.alloc(100_000));
  const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
  await expect(answer.arrayBuffer()).rejects.toThrow();
  expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
});

test('a recipient who leaves has used the download', async () => {
  const endless = new Readable({
    read() {
      this.push(Buffer.alloc(65_536));
    },
  });
  const { app, url, uploads } = await start({ open: async () => endless });
  await using _ = app;
  const { id, authToken } = await upload(url, Buffer.alloc(5_000_000));
  const controller = new AbortController();
  const answer = await fetch(`${url}/api/download/${id}`, {
    headers: { 'x-auth-token': authToken },
    signal: controller.signal,
  });
  expect(answer.status).toBe(200);
  controller.abort();
  await new Promise((resolve) => endless.once('close', resolve)); // the store's stream is let go
  expect(await uploads.find(id)).toMatchObject({ status: 'limit_reached' });
});

describe('a payload that breaks off while its download is being counted', () => {
  /** A service whose count takes until the payload has broken off. */
  async function startSlow(when: 'before' | 'during') {
    const payload = new Readable({ read() {} });
    const breakOff = async () => {
      payload.destroy(new Unavailable('reset'));
      await setImmediate();
    };
    const running = await start({
      open: async () => {
        payload.on('error', () => {}); // as every store's payload
        if (when === 'before') await breakOff();
        return payload;
      },
    });
    const claim = running.uploads.claimDownload;
    running.uploads.claimDownload = async (...args) => {
      const count = await claim(...args);
      await breakOff();
      return count;
    };
    return running;
  }

  test.each(['before', 'during'] as const)('%s the count: 503, and nothing is counted', async (when) => {
    const { app, url, uploads } = await startSlow(when);
    await using _ = app;
    const { id, authToken } = await upload(url, Buffer.alloc(1000));
    const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
    expect([answer.status, await answer.json()]).toEqual([503, { error: 'Service unavailable' }]);
    expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
  });

  test('after it, and before the first byte: 503, and it is given back', async () => {
    const payload = new Readable({ read: () => void payload.destroy(new Unavailable('reset')) });
    const { app, url, uploads } = await start({ open: async () => payload });
    await using _ = app;
    const { id, authToken } = await upload(url, Buffer.alloc(1000));
    const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
    expect([answer.status, await answer.json()]).toEqual([503, { error: 'Service unavailable' }]);
    expect(answer.headers.get('x-file-count')).toBeNull();
    expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
  });
});

test.each([
  ['after most of it was delivered', 60_000, new Unavailable('reset')],
  ['because its reader had kept the store waiting', 10, new KeptWaiting('reset')],
])('a download that breaks off %s is used', async (_when, deliveredBytes, error) => {
  const { app, url, uploads } = await start({
    open: async () =>
      Readable.from(
        (async function* () {
          yield Buffer.alloc(deliveredBytes);
          throw error;
        })(),
        { objectMode: false },
      ),
  });
  await using _ = app;
  const { id, authToken } = await upload(url, Buffer.alloc(100_000));
  const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
  await expect(answer.arrayBuffer()).rejects.toThrow();
  expect(await uploads.find(id)).toMatchObject({ status: 'limit_reached' });
});
