import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Unavailable } from '@mayfly/shared/errors';
import { type BlobStore, KeptWaiting } from '@mayfly/store/blobs';
import { describe, expect, test } from 'vitest';
import { startFiles, uploadHeaders } from './start-files.ts';

/** Too large to be read in one go. */
const LARGE = 300_000;

/** The service with a blob store that fails in one way. */
const start = (faults: Partial<BlobStore>) => startFiles(() => ({ blobs: faults }));

async function upload(url: string, body: Buffer) {
  const headers = uploadHeaders();
  const answer = await fetch(`${url}/api/upload`, { method: 'POST', body, headers });
  const json = (await answer.json()) as { id: string; error?: string };
  return {
    status: answer.status,
    json,
    id: json.id,
    authToken: headers['x-auth-token'],
    ownerToken: headers['x-owner-token'],
  };
}

test('a store that fails in the middle of an upload: 503 that the sender sees, and nothing is left', async () => {
  const taken: string[] = [];
  await using service = await start({
    async put(id, body) {
      taken.push(id);
      for await (const _ of body) throw new Unavailable('disk full');
    },
  });
  const { url, uploads, storedNames } = service;
  const { status, json } = await upload(url, randomBytes(9_000_000));
  expect([status, json]).toEqual([503, { error: 'Service unavailable' }]);
  expect(await uploads.publish(taken[0] ?? '')).toBe(false);
  expect(await storedNames()).toEqual([]);
  expect((await fetch(`${url}/readyz`)).status).toBe(200); // the connection and the service go on
});

test('a payload that the store puts away after it was given up is deleted by the sweep', async () => {
  let putAway = async () => {};
  await using service = await start({
    async put(id, body, sizeBytes) {
      const chunks = await Array.fromAsync(body);
      putAway = () => service.held.put(id, Readable.from(chunks), sizeBytes, new AbortController().signal);
      throw new Unavailable('no answer in time');
    },
  });
  expect((await upload(service.url, Buffer.from('x'))).status).toBe(503);
  await putAway();
  const queued = await service.takeDeletions();
  expect(queued).toHaveLength(1);
  expect(await service.storedNames()).toEqual([`${queued[0]}.bin`]);
});

test('a blob delete that fails does not change the answer, and the blob is queued for deletion', async () => {
  await using service = await start({ delete: async (ids) => ids });
  const { url } = service;
  const { id, ownerToken } = await upload(url, Buffer.from('x'));
  const remove = () => fetch(`${url}/api/upload/${id}`, { method: 'DELETE', headers: { 'x-owner-token': ownerToken } });
  expect((await remove()).status).toBe(200);
  expect((await remove()).status).toBe(404);
  expect(await service.takeDeletions()).toEqual([id]);
});

test('a blob delete that throws does not change the answer either', async () => {
  const failing = async () => {
    throw new Unavailable('no answer');
  };
  await using service = await start({ delete: failing });
  const { url } = service;
  const { id, ownerToken } = await upload(url, Buffer.from('x'));
  const answer = await fetch(`${url}/api/upload/${id}`, { method: 'DELETE', headers: { 'x-owner-token': ownerToken } });
  expect(await answer.json()).toEqual({ ok: true });
  expect(await service.takeDeletions()).toEqual([id]);
});

test('a download that breaks off at the store breaks the connection and is given back', async () => {
  await using service = await start({
    open: async () =>
      Readable.from(
        (async function* () {
          yield Buffer.alloc(10);
          throw new Error('disk gone');
        })(),
      ),
  });
  const { url, uploads } = service;
  const { id, authToken } = await upload(url, Buffer.alloc(LARGE));
  const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
  await expect(answer.arrayBuffer()).rejects.toThrow();
  expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
});

test.each([
  ['cannot be read', () => Promise.reject(new Unavailable('reset'))],
  ['is missing', () => Promise.resolve(undefined)],
])('a small payload that %s: 503, and nothing is counted', async (_what, read) => {
  await using service = await start({ read });
  const { url, uploads } = service;
  const { id, authToken } = await upload(url, Buffer.alloc(1_000));
  const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
  expect([answer.status, await answer.json()]).toEqual([503, { error: 'Service unavailable' }]);
  expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
});

test('a recipient who leaves has used the download', async () => {
  const endless = new Readable({
    read() {
      this.push(Buffer.alloc(65_536));
    },
  });
  await using service = await start({ open: async () => endless });
  const { url, uploads } = service;
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
    await using service = await startSlow(when);
    const { url, uploads } = service;
    const { id, authToken } = await upload(url, Buffer.alloc(LARGE));
    const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
    expect([answer.status, await answer.json()]).toEqual([503, { error: 'Service unavailable' }]);
    expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
  });

  test('after it, and before the first byte: 503, and it is given back', async () => {
    const payload = new Readable({ read: () => void payload.destroy(new Unavailable('reset')) });
    await using service = await start({ open: async () => payload });
    const { url, uploads } = service;
    const { id, authToken } = await upload(url, Buffer.alloc(LARGE));
    const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
    expect([answer.status, await answer.json()]).toEqual([503, { error: 'Service unavailable' }]);
    expect(answer.headers.get('x-file-count')).toBeNull();
    expect(await uploads.find(id)).toMatchObject({ status: 'available', downloadCount: 0 });
  });
});

test.each([
  ['after most of it was delivered', 200_000, new Unavailable('reset')],
  ['because its reader had kept the store waiting', 10, new KeptWaiting('reset')],
])('a download that breaks off %s is used', async (_when, deliveredBytes, error) => {
  await using service = await start({
    open: async () =>
      Readable.from(
        (async function* () {
          yield Buffer.alloc(deliveredBytes);
          throw error;
        })(),
        { objectMode: false },
      ),
  });
  const { url, uploads } = service;
  const { id, authToken } = await upload(url, Buffer.alloc(LARGE));
  const answer = await fetch(`${url}/api/download/${id}`, { headers: { 'x-auth-token': authToken } });
  await expect(answer.arrayBuffer()).rejects.toThrow();
  expect(await uploads.find(id)).toMatchObject({ status: 'limit_reached' });
});
