import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inSuite } from '@mayfly/testing/in-suite';
import { makeOldNote } from '@mayfly/testing/old-note';
import { startShape } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test, vi } from 'vitest';
import {
  fetchTransport,
  MayflyClient,
  NOTE_CONTENT_TYPES,
  parseLink,
  type Source,
  type Transport,
  unpack,
  uploadSize,
} from '../src/index.ts';
import { fileSource, fileSpool, nodeTransport } from '../src/node/index.ts';
import { collect, inPieces, sha256 } from './bytes.ts';
import { patterned } from './reference.ts';

const MIB = 1024 * 1024;
const CHEAP = { argon2id: { memoryKiB: 64, passes: 1 }, pbkdf2: { iterations: 10 } };

const options = '1,60,3600';
const service = inSuite(() =>
  startShape('all', {
    EXPIRE_OPTIONS_SEC: options,
    NOTE_EXPIRE_OPTIONS_SEC: options,
    MAX_FILE_SIZE: '24MiB',
  }),
);

function source(name: string, content: Uint8Array, type = ''): Source {
  return { name, type, size: content.length, stream: () => inPieces(content, 100_000) };
}

const UPLOAD = { expireSec: 60, maxDownloads: 2 };
const NOTE = { expireSec: 60, maxViews: 2 };
/** The secret of a link, changed in one bit. */
const withOtherSecret = async (link: string) => {
  const parsed = await parseLink(link);
  return { ...parsed, secret: parsed.secret.map((byte, index) => (index === 0 ? byte ^ 1 : byte)) };
};

describe.each([
  ['node', nodeTransport],
  ['fetch', fetchTransport],
] as const)('through the %s transport', (_, buildTransport) => {
  const open = () =>
    new MayflyClient({ baseUrl: service().baseUrl, transport: buildTransport(), unsafePasswordCost: CHEAP });

  test('the service says what it accepts', async () => {
    expect(await open().getConfig()).toMatchObject({ maxFileSize: 24 * MIB, expireOptionsSec: [1, 60, 3600] });
  });

  test('a file of 20 MiB arrives as it was sent, and the service has seen nothing of it', async () => {
    const client = open();
    const content = patterned(20 * MIB);
    const sent: number[] = [];
    const { link, id } = await client.uploadFiles([source('movie ü.mp4', content, 'video/mp4')], {
      ...UPLOAD,
      onProgress: (doneBytes, totalBytes) => sent.push(doneBytes / totalBytes),
    });
    expect(sent.at(-1)).toBe(1);

    const info = await client.getInfo(link);
    const file = { name: 'movie ü.mp4', type: 'video/mp4', size: 20 * MIB };
    expect(info).toMatchObject({ id, fileCount: 1, hasPassword: false, downloadCount: 0, metadata: { files: [file] } });
    expect(JSON.stringify({ ...info, metadata: undefined })).not.toContain('movie');
    expect(readFileSync(blobOf(id)).includes(content.subarray(0, 32))).toBe(false);

    const received: number[] = [];
    const download = await client.download(link, { onProgress: (doneBytes) => received.push(doneBytes) });
    expect(download).toMatchObject({ metadata: { files: [file] }, size: 20 * MIB });
    expect(sha256(await collect(download.payload))).toBe(sha256(content));
    expect(received.at(-1)).toBe(20 * MIB);
    expect(received).toEqual(received.toSorted((one, other) => one - other));
    expect((await client.getInfo(link)).downloadCount).toBe(1);
  });

  test('several files arrive as they were sent', async () => {
    const client = open();
    const files = [source('a', patterned(MIB)), source('b', patterned(0)), source('dir/c.txt', patterned(100))];
    const { link } = await client.uploadFiles(files, UPLOAD);
    expect((await client.getInfo(link)).fileCount).toBe(3);
    const { metadata, payload } = await client.download(link);
    const received: [string, number, string][] = [];
    for await (const { name, size, stream } of unpack(metadata, payload)) {
      received.push([name, size, sha256(await collect(stream))]);
    }
    expect(received).toEqual([
      ['a', MIB, sha256(patterned(MIB))],
      ['b', 0, sha256(patterned(0))],
      ['dir/c.txt', 100, sha256(patterned(100))],
    ]);
  });

  test('an empty file arrives', async () => {
    const client = open();
    const { link } = await client.uploadFiles([source('empty', patterned(0))], UPLOAD);
    expect(await collect((await client.download(link)).payload)).toHaveLength(0);
  });

  test.each(['argon2id', 'pbkdf2'] as const)('a file is protected by a password (%s)', async (passwordAlgo) => {
    const client = open();
    const options = { ...UPLOAD, password: 'right', passwordAlgo };
    const { link } = await client.uploadFiles([source('a', patterned(10))], options);
    const info = await client.getInfo(link);
    expect(info).toMatchObject({ hasPassword: true, passwordAlgo });
    expect(info.metadata).toBeUndefined();
    const allow = { allowPbkdf2: passwordAlgo === 'pbkdf2' };
    const [wrong, right] = [
      { ...allow, password: 'wrong' },
      { ...allow, password: 'right' },
    ];
    await expect(client.download(link, allow)).rejects.toMatchObject({ code: 'password-needed' });
    await expect(client.download(link, wrong)).rejects.toMatchObject({ code: 'wrong-password' });
    await expect(client.checkPassword(link, 'wrong', allow)).rejects.toMatchObject({ code: 'wrong-password' });
    expect((await client.getInfo(link)).downloadCount).toBe(0);

    const unlocked = await client.checkPassword(link, 'right', allow);
    expect((await client.getInfo(unlocked)).metadata?.files[0]?.name).toBe('a');
    expect(await collect((await client.download(unlocked)).payload)).toEqual(patterned(10));
    expect(await collect((await client.download(link, right)).payload)).toEqual(patterned(10));
  });

  test.each(['argon2id', 'pbkdf2'] as const)('a note is protected by a password (%s)', async (passwordAlgo) => {
    const client = open();
    const { link } = await client.createNote('text', { ...NOTE, password: 'right', passwordAlgo });
    expect(await client.getNote(link)).toMatchObject({ hasPassword: true, passwordAlgo });
    const allow = { allowPbkdf2: passwordAlgo === 'pbkdf2' };
    const [wrong, right] = [
      { ...allow, password: 'wrong' },
      { ...allow, password: 'right' },
    ];
    await expect(client.viewNote(link, allow)).rejects.toMatchObject({ code: 'password-needed' });
    await expect(client.viewNote(link, wrong)).rejects.toMatchObject({ code: 'wrong-password' });
    await expect(client.checkPassword(link, 'wrong', allow)).rejects.toMatchObject({ code: 'wrong-password' });
    const unlocked = await client.checkPassword(link, 'right', allow);
    expect(await client.viewNote(unlocked)).toMatchObject({ text: 'text', viewCount: 1 });
    expect(await client.viewNote(link, right)).toMatchObject({ text: 'text', viewCount: 2 });
  });

  test('a note arrives until it is used up', async () => {
    const client = open();
    const { link, expiresAt } = await client.createNote('# 蜉蝣', { ...NOTE, contentType: 'markdown', maxViews: 1 });
    const told = { contentType: undefined, viewCount: 0, maxViews: 1, expiresAt };
    expect(await client.getNote(link)).toMatchObject(told);
    const viewed = { text: '# 蜉蝣', contentType: 'markdown', viewCount: 1, maxViews: 1 };
    expect(await client.viewNote(link)).toEqual(viewed);
    await expect(client.viewNote(link)).rejects.toMatchObject({ code: 'used-up', status: 410 });
    await expect(client.getNote(link)).rejects.toMatchObject({ code: 'used-up', status: 410 });
  });

  test('a note of an old link is read as ever, and says its type before', async () => {
    const link = await makeOldNote(service().baseUrl, '# 蜉蝣', { contentType: 'markdown' });
    expect(link.split('#')[1]).toHaveLength(43);
    expect(await open().getNote(link)).toMatchObject({ contentType: 'markdown', viewCount: 0 });
    expect(await open().viewNote(link)).toMatchObject({ text: '# 蜉蝣', contentType: 'markdown', viewCount: 1 });
  });

  test('what the service has of a note tells neither its type nor, within a kilobyte, its length', async () => {
    const bodies: { contentType: string; encryptedContent: string }[] = [];
    const transport: Transport = {
      async send(request) {
        if (request.url.endsWith('/api/note')) bodies.push(JSON.parse(String(request.body)));
        return nodeTransport().send(request);
      },
    };
    const client = new MayflyClient({ baseUrl: service().baseUrl, transport });
    const { noteMaxSize } = await client.getConfig();
    for (const contentType of NOTE_CONTENT_TYPES) {
      for (const text of ['', 'a', 'x'.repeat(1000)]) {
        const { link } = await client.createNote(text, { ...NOTE, contentType, noteMaxSize });
        expect(await client.viewNote(link)).toMatchObject({ text, contentType });
      }
    }
    expect(new Set(bodies.map((body) => body.contentType))).toEqual(new Set(['text']));
    expect(new Set(bodies.map((body) => body.encryptedContent.length)).size).toBe(1);
  });

  test('the largest note arrives, of any type, and a larger one is refused', async () => {
    const client = open();
    const { noteMaxSize } = await client.getConfig();
    const text = 'x'.repeat(MIB);
    expect(noteMaxSize).toBe(MIB);
    for (const contentType of NOTE_CONTENT_TYPES) {
      for (const largest of [noteMaxSize, undefined]) {
        const { link } = await client.createNote(text, { ...NOTE, contentType, noteMaxSize: largest });
        expect((await client.viewNote(link)).text === text).toBe(true);
      }
    }
    await expect(client.createNote(`${text}${'x'.repeat(300)}`, NOTE)).rejects.toMatchObject({ code: 'too-large' });
  });

  test('a file is used up after its last download, and expires after its time', async () => {
    const client = open();
    const once = await client.uploadFiles([source('a', patterned(10))], { ...UPLOAD, maxDownloads: 1 });
    await collect((await client.download(once.link)).payload);
    await expect(client.download(once.link)).rejects.toMatchObject({ code: 'used-up', status: 410 });
    const brief = await client.uploadFiles([source('a', patterned(10))], { ...UPLOAD, expireSec: 1 });
    const note = await client.createNote('x', { ...NOTE, expireSec: 1 });
    await sleep(1200);
    await expect(client.getInfo(brief.link)).rejects.toMatchObject({ code: 'expired', status: 410 });
    await expect(client.viewNote(note.link)).rejects.toMatchObject({ code: 'expired', status: 410 });
  });

  test('the owner deletes; a recipient, with everything that a link holds, cannot', async () => {
    const client = open();
    for (const created of [
      await client.uploadFiles([source('a', patterned(10))], UPLOAD),
      await client.createNote('x', NOTE),
    ]) {
      const read = () => (created.kind === 'upload' ? client.getInfo(created.link) : client.getNote(created.link));
      const ofTheLink = created.link.slice(-43);
      await expect(client.remove(created, ofTheLink)).rejects.toMatchObject({ code: 'wrong-token' });
      await expect(client.remove(created, 'nonsense')).rejects.toMatchObject({ code: 'wrong-token' });
      await read();
      await client.remove(created, created.ownerSecret);
      await expect(read()).rejects.toMatchObject({ code: 'not-found', status: 404 });
      await expect(client.remove(created, created.ownerSecret)).rejects.toMatchObject({ code: 'not-found' });
    }
  });

  test('a link whose secret is not the right one opens nothing and spends nothing', async () => {
    const client = open();
    const upload = await client.uploadFiles([source('a', patterned(10))], UPLOAD);
    await expect(client.download(await withOtherSecret(upload.link))).rejects.toMatchObject({ code: 'tampered' });
    const old = `${upload.link.split('#')[0]}#${'B'.repeat(42)}A`; // without a check
    for (const open of [() => client.getInfo(old), () => client.download(old)]) {
      await expect(open()).rejects.toMatchObject({ code: 'wrong-token' });
    }
    expect((await client.getInfo(upload.link)).downloadCount).toBe(0);
    const note = await client.createNote('x', NOTE);
    await expect(client.viewNote(await withOtherSecret(note.link))).rejects.toMatchObject({ code: 'wrong-token' });
    expect((await client.getNote(note.link)).viewCount).toBe(0);
    await expect(client.viewNote(upload.link)).rejects.toMatchObject({ code: 'invalid-link' });
  });

  test('a file over the maximum is refused', async () => {
    const files = [source('a', patterned(25 * MIB))];
    await expect(open().uploadFiles(files, UPLOAD)).rejects.toMatchObject({ code: 'too-large', status: 413 });
  });

  test('a request that the service does not accept says which field is wrong', async () => {
    const uploading = open().uploadFiles([source('a', patterned(1))], { ...UPLOAD, expireSec: 7 });
    await expect(uploading).rejects.toMatchObject({ code: 'invalid-request', message: /X-Expire-Sec/ });
  });

  test('a file that changes while it is read is not uploaded', async () => {
    const before = new Set(blobs());
    const changed = { name: 'a', size: 5 * MIB, stream: () => inPieces(patterned(3 * MIB)) };
    await expect(open().uploadFiles([changed], UPLOAD)).rejects.toMatchObject({ code: 'bad-source' });
    // The service finds out when the connection ends. Meanwhile its janitor may remove others.
    await vi.waitFor(() => expect(blobs().filter((name) => !before.has(name))).toEqual([]), 10_000);
  });

  test('what the service changed is found out', async () => {
    const client = open();
    const { link, id } = await client.uploadFiles([source('a', patterned(MIB))], UPLOAD);
    const path = blobOf(id);
    const blob = readFileSync(path);
    blob.writeUInt8(blob.readUInt8(MIB - 5) ^ 1, MIB - 5);
    writeFileSync(path, blob);
    await expect(collect((await client.download(link)).payload)).rejects.toMatchObject({ code: 'tampered' });
  });

  test('an upload, a download and a password check end when they are aborted', async () => {
    const client = open();
    const stopped = AbortSignal.abort();
    const files = [source('a', patterned(10 * MIB))];
    await expect(client.uploadFiles(files, { ...UPLOAD, signal: stopped })).rejects.toMatchObject({ code: 'aborted' });
    const { link } = await client.uploadFiles(files, { ...UPLOAD, password: 'x' });
    await expect(client.checkPassword(link, 'x', { signal: stopped })).rejects.toMatchObject({ code: 'aborted' });
    const controller = new AbortController();
    const { payload } = await client.download(link, { password: 'x', signal: controller.signal });
    const reading = collect(payload.pipeThrough(slow(() => controller.abort())));
    await expect(reading).rejects.toMatchObject({ code: 'aborted' });
  });

  test('nobody at the address is a network error, and something else there is no service', async () => {
    const away = new MayflyClient({ baseUrl: 'http://127.0.0.1:9', transport: buildTransport() });
    await expect(away.getConfig()).rejects.toMatchObject({ code: 'network' });
    const elsewhere = new MayflyClient({ baseUrl: `${service().baseUrl}/elsewhere`, transport: buildTransport() });
    await expect(elsewhere.getConfig()).rejects.toMatchObject({ code: 'not-found' });
  });
});

test('with the real costs a password takes its time and works', async () => {
  const client = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() });
  const { link } = await client.createNote('x', { ...NOTE, password: 'long and right' });
  expect(await client.viewNote(link, { password: 'long and right' })).toMatchObject({ text: 'x' });
  const cheap = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport(), unsafePasswordCost: CHEAP });
  const viewing = cheap.viewNote(link, { password: 'long and right' });
  await expect(viewing).rejects.toMatchObject({ code: 'wrong-password' });
});

test('a file of this machine is read when it is sent', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'data.bin');
  writeFileSync(path, patterned(MIB));
  const client = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() });
  const { link } = await client.uploadFiles([await fileSource(path)], UPLOAD);
  const { metadata, payload } = await client.download(link);
  expect(metadata.files).toEqual([{ name: 'data.bin', type: '', size: MIB }]);
  expect((await collect(payload)).equals(patterned(MIB))).toBe(true);
  await expect(fileSource(folder.path)).rejects.toMatchObject({ code: 'invalid-request' });
});

test.each([0, 1, 65_536, 3 * MIB + 7])('a stream of %i bytes arrives, though nobody knew its size', async (size) => {
  await using folder = await freshFolder();
  const client = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() });
  const content = patterned(size);
  const seen: string[] = [];
  const onProgress = () => seen.push(...readdirSync(folder.path));
  const options = { ...UPLOAD, onProgress, spool: fileSpool({ folder: folder.path }) };
  const { link } = await client.uploadStream({ name: 'a.tar', stream: () => inPieces(content, 50_000) }, options);
  const { metadata, payload } = await client.download(link);
  expect(metadata).toEqual({ files: [{ name: 'a.tar', type: '', size }] });
  expect((await collect(payload)).equals(content)).toBe(true);
  // Not even while it is sent.
  expect(seen).toEqual([]);
});

test('a spool ends with what it may hold, and with its source', async () => {
  await using folder = await freshFolder();
  const client = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() });
  const send = (stream: () => ReadableStream<Uint8Array>, maxBytes: number, signal?: AbortSignal) =>
    client.uploadStream(
      { name: 'a', stream },
      { ...UPLOAD, signal, spool: fileSpool({ folder: folder.path, maxBytes }) },
    );
  await expect(send(endless, MIB)).rejects.toMatchObject({ code: 'too-large' });
  const broken = () => new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('broken')) });
  await expect(send(broken, MIB)).rejects.toMatchObject({ code: 'bad-source' });
  const stopped = send(endless, 1000 * MIB, AbortSignal.timeout(100));
  await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
  expect(readdirSync(folder.path)).toEqual([]);
});

test('the size of an upload is known before', async () => {
  const client = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() });
  const files = [source('a', patterned(70_000)), source('b', patterned(3))];
  for (const some of [files, files.slice(1)]) {
    const { link } = await client.uploadFiles(some, UPLOAD);
    expect((await client.getInfo(link)).size).toBe(uploadSize(some));
  }
});

test('how often something was used can be asked without its link', async () => {
  const client = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() });
  const upload = await client.uploadFiles([source('a', patterned(10))], UPLOAD);
  const note = await client.createNote('x', { ...NOTE, maxViews: 1 });
  await collect((await client.download(upload.link)).payload);
  expect(await client.getUsage(upload)).toMatchObject({ usedCount: 1, maxUses: 2 });
  const fresh = { usedCount: 0, maxUses: 1, expiresAt: note.expiresAt };
  expect(await client.getUsage({ kind: 'note', id: note.id })).toEqual(fresh);
  await client.viewNote(note.link);
  await expect(client.getUsage(note)).rejects.toMatchObject({ code: 'used-up' });
});

test('too many requests say when to come back', async () => {
  await using busy = await startShape('all', { RATE_LIMIT_MAX: '3', RATE_LIMIT_WINDOW_SEC: '60' });
  const client = new MayflyClient({ baseUrl: busy.baseUrl, transport: nodeTransport() });
  const all = Promise.all(Array.from({ length: 5 }, () => client.getConfig()));
  await expect(all).rejects.toMatchObject({ code: 'rate-limited', status: 429, retryAfterSec: expect.any(Number) });
});

function blobs(): string[] {
  const entries = readdirSync(String(service().blobs.settings.BLOB_DIR), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

function blobOf(id: string): string {
  return String(blobs().find((path) => path.endsWith(`${id}.bin`)));
}

/** Calls back once after the first piece. */
function slow(afterFirst: () => void) {
  let isFirst = true;
  return new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      controller.enqueue(chunk);
      if (!isFirst) return;
      isFirst = false;
      afterFirst();
      await sleep(50);
    },
  });
}

function endless() {
  return new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(patterned(100_000)) });
}

test('as many files arrive as one upload can name, in one piece and in parts; more are refused before anything is sent', async () => {
  const client = new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() });
  const { maxFilesPerUpload, uploadParts } = await client.getConfig();
  const files = Array.from({ length: 1000 }, (_, index) => source(`${index}`.padStart(150, 'ü'), patterned(1)));
  const describedBytes = (some: Source[]) =>
    Buffer.byteLength(JSON.stringify(some.map(({ name, size, type = '' }) => ({ name, type, size }))));
  while (describedBytes(files) > 196_000) files.pop();
  const last = files.at(-1) as Source;
  last.name += 'x'.repeat(196_000 - describedBytes(files));
  for (const how of [{}, { uploadParts, inParts: true }]) {
    const { link } = await client.uploadFiles(files, { ...UPLOAD, ...how, maxFilesPerUpload });
    const { metadata, payload } = await client.download(link);
    let count = 0;
    for await (const { name, stream } of unpack(metadata, payload)) {
      expect([name, (await collect(stream)).length]).toEqual([files[count]?.name, 1]);
      count += 1;
    }
    expect(count).toBe(files.length);
  }
  expect(maxFilesPerUpload).toBe(32);
  last.name += 'x';
  const message = expect.stringMatching(/has 196,001 bytes, more than the 196,000 of one upload; send an archive/);
  await expect(client.uploadFiles(files, UPLOAD)).rejects.toMatchObject({ code: 'too-many-files', message });
  expect(() => uploadSize(files)).toThrow('send an archive of them');
  const counted = await client.uploadFiles(files.slice(0, 32), { ...UPLOAD, maxFilesPerUpload });
  expect((await client.getInfo(counted.link)).fileCount).toBe(32);
  await expect(client.uploadFiles(files.slice(0, 33), UPLOAD)).rejects.toMatchObject({ code: 'invalid-request' });
});
