import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { encryptedSize, MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { TestBlobs } from '@mayfly/testing/blobs';
import { peakMemoryBytes } from '@mayfly/testing/proc';
import { expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const MIB = 1024 * 1024;

describeEachShape('the main job', {}, (service) => {
  test('100 MiB, encrypted by the client, come back byte by byte, and memory stays flat', async () => {
    await roundTrip(service.api, 32 * MIB); // code and buffers are warm before memory is measured
    const before = service.running.processes.map((process) => peakMemoryBytes(process.child.pid));
    await roundTrip(service.api, 100 * MIB);
    service.running.processes.forEach((process, index) => {
      const peak = peakMemoryBytes(process.child.pid); // 0 where it is not Linux
      expect(peak - (before[index] ?? 0), `${process.name} grew`).toBeLessThan(64 * MIB);
    });
  });

  test('an upload lives: exists, password check, downloads to the limit, then 410, then deleted', async () => {
    const upload = await service.api.newUpload({ 'X-Max-Downloads': '1' });
    expect((await service.api.exists(upload.id)).body).toEqual({ exists: true });
    expect((await service.api.checkPassword(upload.id, upload.authToken)).status).toBe(400);
    const download = await service.api.download(upload.id, upload.authToken);
    expect(download.body.bytes).toEqual(upload.payload);
    expect((await service.api.exists(upload.id)).body).toEqual({ exists: false, reason: 'limit_reached' });
    expect((await service.api.download(upload.id, upload.authToken)).status).toBe(410);
    expect((await service.api.deleteUpload(upload.id, upload.ownerToken)).body).toEqual({ ok: true });
    expect((await service.api.exists(upload.id)).status).toBe(404);
  });

  test('a note lives: read, view, password check, last view, then 410, then deleted', async () => {
    const note = await service.api.newNote({
      hasPassword: true,
      passwordSalt: Buffer.alloc(16, 1).toString('base64url'),
      passwordAlgo: 'argon2id',
    });
    expect((await service.api.note(note.id)).body).toMatchObject({ id: note.id, viewCount: 0, maxViews: 2 });
    expect((await service.api.checkNotePassword(note.id, note.authToken)).body).toEqual({ ok: true });
    const { encryptedContent, nonce } = note;
    expect((await service.api.view(note.id, note.authToken)).body).toEqual({
      encryptedContent,
      nonce,
      viewCount: 1,
      maxViews: 2,
    });
    expect((await service.api.view(note.id, note.authToken)).body).toMatchObject({ viewCount: 2 });
    expect((await service.api.view(note.id, note.authToken)).body).toEqual({ error: 'View limit reached' });
    expect((await service.api.deleteNote(note.id, note.ownerToken)).body).toEqual({ ok: true });
    expect((await service.api.note(note.id)).status).toBe(404);
  });

  test('the janitor removes the blob of what has expired, and the answer stays 410', async () => {
    const upload = await service.api.newUpload({ 'X-Expire-Sec': '1' });
    const note = await service.api.newNote({ expireSec: 1 });
    expect(await service.running.blobs.names()).toContain(`${upload.id}.bin`);
    await untilGone(service.running.blobs, `${upload.id}.bin`);
    expect((await service.api.exists(upload.id)).body).toEqual({ exists: false, reason: 'expired' });
    expect((await service.api.download(upload.id, upload.authToken)).status).toBe(410);
    expect((await service.api.note(note.id)).body).toEqual({ error: 'Note has expired' });
    expect((await service.api.deleteUpload(upload.id, upload.ownerToken)).status).toBe(200);
    expect((await service.api.exists(upload.id)).status).toBe(404);
  });
});

/** From one client to another, random bytes that nobody holds as a whole. */
async function roundTrip(api: Api, size: number) {
  const client = new MayflyClient({ baseUrl: api.baseUrl, transport: nodeTransport() });
  const sent = createHash('sha256');
  const file = { name: 'holiday.mp4', type: 'video/mp4', size };
  const source = { ...file, stream: () => ReadableStream.from(randomPieces(size, (piece) => sent.update(piece))) };
  const { id, link } = await client.uploadFiles([source], { expireSec: 3600, maxDownloads: 2 });
  expect(link).toMatch(`${api.baseUrl}/d/${id}#`);
  const info = await client.getInfo(link);
  expect(info).toMatchObject({ id, size: encryptedSize(size), fileCount: 1, downloadCount: 0, maxDownloads: 2 });
  expect(info.metadata).toEqual({ files: [file] });

  const received = createHash('sha256');
  const { payload } = await client.download(link);
  for await (const piece of payload) received.update(piece);
  expect(received.digest('hex')).toBe(sent.digest('hex'));
}

function* randomPieces(size: number, onPiece: (piece: Buffer) => void) {
  for (let left = size; left > 0; ) {
    const piece = randomBytes(Math.min(left, 256 * 1024));
    onPiece(piece);
    yield piece;
    left -= piece.length;
  }
}

async function untilGone(blobs: TestBlobs, name: string) {
  for (let tries = 0; tries < 200; tries++) {
    if (!(await blobs.names()).includes(name)) return;
    await sleep(100);
  }
  throw new Error(`${name} is still there after 20 seconds`);
}
