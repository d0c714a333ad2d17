import { setTimeout as sleep } from 'node:timers/promises';
import { s3Blobs } from '@mayfly/testing/blobs';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';

// An S3 store whose connections break or go silent, under both shapes: `all` is told to keep its blobs on S3, too.

const MiB = 1024 * 1024;

describe.each(SHAPES.filter((shape) => shape !== 'deployed'))('an S3 store that fails dirtily (%s)', (shape) => {
  const blobs = inSuite(() => s3Blobs());
  const running = inSuite(() => startShape(shape, blobs().settings));
  const api = () => new Api(running().baseUrl);

  const ended = () =>
    running()
      .processes.filter(({ child }) => child.exitCode !== null)
      .map(({ name }) => name);

  /** A recipient on a slow line: reads so much a second until the answer ends or breaks; resolves with its status. */
  async function readSlowly(id: string, authToken: string, bytesPerSec: number): Promise<number> {
    const socket = await openSocket(running().baseUrl);
    socket.write(requestHead(`GET /api/download/${id}`, { 'X-Auth-Token': authToken, Connection: 'close' }));
    let status = 0;
    socket.on('data', (chunk: Buffer) => {
      status ||= Number(chunk.subarray(9, 12).toString());
      socket.pause();
      setTimeout(() => socket.resume(), (chunk.length / bytesPerSec) * 1000);
    });
    const timer = setTimeout(() => socket.destroy(), 1_500);
    await new Promise((resolve) => socket.once('close', resolve));
    clearTimeout(timer);
    return status;
  }

  test('connections that are reset all the time end no process, whatever is being downloaded', async () => {
    const upload = await api().newUpload({ 'X-Max-Downloads': '100' }, Buffer.alloc(8 * MiB));
    const resets = setInterval(() => blobs().proxy.reset(), 100);
    const statuses: number[] = [];
    try {
      const until = Date.now() + 4_000;
      await Promise.all(
        Array.from({ length: 32 }, async () => {
          while (Date.now() < until && ended().length === 0) {
            statuses.push(await readSlowly(upload.id, upload.authToken, 200_000));
          }
        }),
      );
    } finally {
      clearInterval(resets);
    }
    expect(ended()).toEqual([]);
    expect(statuses).toContain(200);
    expect(statuses.filter((status) => ![0, 200, 410, 503].includes(status))).toEqual([]);
  }, 60_000);

  test('a reset between opening and counting is 503, and nothing is counted', async () => {
    const upload = await api().newUpload({ 'X-Max-Downloads': '1' }, Buffer.alloc(8 * MiB));
    const lock = new pg.Client(running().databaseUrl);
    await lock.connect();
    try {
      await lock.query('begin');
      await lock.query('select from files.uploads where id = $1 for update', [upload.id]); // the count has to wait
      const before = blobs().proxy.connections();
      // Its buffer may be full when the reset comes: then the break is seen only when it is sent.
      const answer = api()
        .download(upload.id, upload.authToken)
        .catch(() => ({ status: 503 }));
      await untilTrue(() => blobs().proxy.connections() > before || blobs().proxy.connections() > 0);
      await sleep(500);
      blobs().proxy.reset();
      await sleep(300);
      await lock.query('commit');
      expect((await answer).status).toBe(503);
    } finally {
      await lock.end();
    }
    expect(ended()).toEqual([]);
    await untilTrue(async () => (await api().info(upload.id)).body.downloadCount === 0);
    expect((await api().download(upload.id, upload.authToken)).status).toBe(200);
  }, 30_000);

  /** Opens a download and reads until `bytes` have come, then stops. */
  async function readPart(id: string, authToken: string, bytes: number) {
    const socket = await openSocket(running().baseUrl);
    let readBytes = 0;
    const read = Promise.withResolvers<void>();
    socket.on('data', (chunk: Buffer) => {
      readBytes += chunk.length;
      if (readBytes < bytes) return;
      if (bytes > 0) socket.pause();
      read.resolve();
    });
    socket.write(requestHead(`GET /api/download/${id}`, { 'X-Auth-Token': authToken, Connection: 'close' }));
    await read.promise;
    return {
      rest: async () => {
        bytes = Number.POSITIVE_INFINITY;
        const closed = new Promise((resolve) => socket.once('close', resolve));
        socket.resume();
        await closed;
        return readBytes;
      },
    };
  }
  const countOf = async (id: string) => (await api().info(id)).body.downloadCount;

  test('a recipient who stalls until the store breaks off has used the download, however little came', async () => {
    const upload = await api().newUpload({}, Buffer.alloc(128 * MiB));
    const download = await readPart(upload.id, upload.authToken, 4 * MiB);
    await sleep(2_500);
    blobs().proxy.reset();
    await sleep(200);
    const readBytes = await download.rest();
    expect(readBytes).toBeGreaterThan(4 * MiB);
    expect(readBytes).toBeLessThan(128 * MiB); // what the sockets on its way hold is the system's choice
    await sleep(500); // time to give it back, which must not happen
    expect(await countOf(upload.id)).toBe(1);
  }, 30_000);

  test('a recipient who reads gets the download back when the store breaks off early', async () => {
    const upload = await api().newUpload({}, Buffer.alloc(64 * MiB));
    const download = await readPart(upload.id, upload.authToken, MiB);
    blobs().proxy.reset();
    expect(await download.rest()).toBeLessThan(32 * MiB);
    await untilTrue(async () => (await countOf(upload.id)) === 0);
  }, 30_000);

  test('after most of the payload it is used, whoever is at fault', async () => {
    const upload = await api().newUpload({}, Buffer.alloc(64 * MiB));
    const download = await readPart(upload.id, upload.authToken, 40 * MiB);
    blobs().proxy.reset();
    const readBytes = await download.rest();
    await sleep(500);
    if (readBytes < 64 * MiB) expect(await countOf(upload.id)).toBe(1);
  }, 30_000);

  test('a store that has gone silent without an end is used again within 15 s of the first connection that works', async () => {
    const upload = await api().newUpload({ 'X-Max-Downloads': '100' });
    const doomed = await api().newUpload();
    const works = {
      upload: async () => (await api().newUpload()).id.length > 0,
      download: async () => (await api().download(upload.id, upload.authToken)).status === 200,
      health: async () => (await fetch(`${api().baseUrl}/api/health`)).ok,
    };
    const all = () => Object.values(works).map((work) => work().catch(() => false));
    await Promise.all([...all(), ...all()]); // leaves kept connections behind
    blobs().proxy.silence();
    const meanwhile = all();
    await sleep(3_000);
    blobs().proxy.mend();
    const since = performance.now();
    const tookMs = await Promise.all(
      Object.values(works).map(async (work) => {
        while (!(await work().catch(() => false))) await sleep(100);
        return performance.now() - since;
      }),
    );
    expect(Math.max(...tookMs)).toBeLessThan(15_000);
    expect((await api().deleteUpload(doomed.id, doomed.ownerToken)).status).toBe(200);
    await Promise.all(meanwhile);
    expect(performance.now() - since).toBeLessThan(25_000);
  }, 120_000);
});
