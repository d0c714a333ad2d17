import { createHash } from 'node:crypto';
import { FakePartsService, type Fault, type Request, UPLOAD_PARTS } from '@mayfly/testing/fake-parts-service';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Created,
  fetchTransport,
  MayflyClient,
  type Source,
  type Transport,
  type UnfinishedUpload,
  unpack,
  uploadSize,
} from '../src/index.ts';
import { chooseSegmentsPerPart, partBytes, partedSize } from '../src/layout.ts';
import { nodeEncryption } from '../src/node/encryption.ts';
import { nodeTransport } from '../src/node/index.ts';
import { Parallelism } from '../src/part-queue.ts';
import { collect, inPieces } from './bytes.ts';
import { FakeClock } from './fake-clock.ts';
import { patterned } from './reference.ts';

/** Parts of one segment. */
const uploadParts = { ...UPLOAD_PARTS, maxBytes: partBytes(1) };
const UPLOAD = { expireSec: 60, maxDownloads: 1, uploadParts };
const SIZE = 10 * 65_536 + 5;
const PADDED = 41 * 2 ** 14;
const PARTS = 11;

function source(name: string, content: Uint8Array, lastModified?: number): Source {
  const file = { name, size: content.length, stream: () => inPieces(content) };
  return lastModified === undefined ? file : { ...file, lastModified };
}

function start() {
  const service = new FakePartsService();
  const clock = new FakeClock();
  const client = new MayflyClient({ baseUrl: 'https://mayfly.example', transport: service.transport(), clock });
  return { service, clock, client };
}

/** Compared in place of the bytes, which takes the test runner a hundred times as long. */
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const received = async (client: MayflyClient, link: string) => {
  const { metadata, payload } = await client.download(link);
  const files: Record<string, string> = {};
  for await (const { name, stream } of unpack(metadata, payload)) files[name] = digest(await collect(stream));
  return files;
};

/** Stores some parts, then loses what it had in memory: what was kept, and the error. */
async function interrupted(
  { service, client }: ReturnType<typeof start>,
  files: Source[],
  storedParts: number,
  more = {},
) {
  let unfinished: UnfinishedUpload | undefined;
  const controller = new AbortController();
  service.fault = () => {
    const stored = [...service.sessions.values()].at(-1)?.parts.size ?? 0;
    if (stored >= storedParts) controller.abort();
    return undefined;
  };
  const onUnfinished = (kept: UnfinishedUpload) => {
    unfinished = JSON.parse(JSON.stringify(kept));
  };
  const uploading = client.uploadFiles(files, { ...UPLOAD, ...more, onUnfinished, signal: controller.signal });
  await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
  service.fault = () => undefined;
  if (!unfinished) throw new Error('nothing was kept');
  return unfinished;
}

describe('what is sent in parts', () => {
  test('arrives, and progress counts what is stored', async () => {
    const { service, client } = start();
    const steps: number[][] = [];
    const onProgress = (done: number, total: number) => steps.push([done, total]);
    const created = await client.uploadFiles([source('a', patterned(SIZE))], { ...UPLOAD, onProgress });
    expect(created.link).toMatch(`https://mayfly.example/d/${created.id}#`);
    expect(await received(client, created.link)).toEqual({ a: digest(patterned(SIZE)) });
    const total = partedSize(PADDED, 1);
    expect(steps).toHaveLength(PARTS);
    expect(steps.at(-1)).toEqual([total, total]);
    expect(steps.map(([done]) => done)).toEqual(
      steps.map(([done]) => done).toSorted((one = 0, other = 0) => one - other),
    );
    expect(uploadSize([source('a', patterned(SIZE))], UPLOAD)).toBe(total);
    expect(service.requests.filter((request) => request.startsWith('POST /api/parts'))).toHaveLength(PARTS + 2);
  });

  test.each<[object, object, number]>([
    [{}, {}, 4],
    [{ maxParallel: 8 }, {}, 8],
    [{ maxParallel: 8 }, { maxParallel: 3 }, 3],
  ])('has as many parts under way as transport %j and options %j say: %i', async (more, options, most) => {
    const inner = new FakePartsService().transport();
    const expected = new Parallelism(most, new FakeClock());
    const held: (() => void)[] = [];
    let [sent, largest] = [0, 0];
    const transport: Transport = {
      ...more,
      async send(request) {
        if (!/\/\d+$/.test(request.url)) return inner.send(request);
        sent += 1;
        const { promise, resolve } = Promise.withResolvers<void>();
        largest = Math.max(largest, held.push(resolve));
        // None is answered before as many have come as may be under way.
        if (held.length === expected.limit || sent >= 80) for (const answer of held.splice(0)) answer();
        await promise;
        expected.stored(1);
        return inner.send(request);
      },
    };
    const client = new MayflyClient({ baseUrl: 'https://mayfly.example', transport, clock: new FakeClock() });
    await client.uploadFiles([source('a', patterned(80 * 65_536))], { ...UPLOAD, ...options });
    expect(largest).toBe(most);
  });

  test('is several files as an archive, a protected one, and one of any size', async () => {
    const { client } = start();
    const files = [source('a', patterned(100_000)), source('b', patterned(70_000))];
    const { link } = await client.uploadFiles(files, UPLOAD);
    expect(await received(client, link)).toEqual({ a: digest(patterned(100_000)), b: digest(patterned(70_000)) });
    for (const size of [0, 1, 65_535, 65_536, 65_537, 3 * 65_536]) {
      const { link } = await client.uploadFiles([source('a', patterned(size))], { ...UPLOAD, inParts: true });
      expect(await received(client, link)).toEqual({ a: digest(patterned(size)) });
    }
  });

  test('is what is larger than one part, or what an option says', async () => {
    const { service, client } = start();
    service.fault = ({ path }) => (path === '/api/upload' ? { status: 413, body: {} } : undefined);
    const isInParts = async (size: number, options: object) => {
      const uploading = client.uploadFiles([source('a', patterned(size))], { ...UPLOAD, ...options });
      return uploading.then(
        () => true,
        ({ code }) => (code === 'too-large' ? false : code),
      );
    };
    expect(await isInParts(65_536, {})).toBe(false);
    expect(await isInParts(65_537, {})).toBe(true);
    expect(await isInParts(65_537, { inParts: false })).toBe(false);
    expect(await isInParts(65_537, { uploadParts: undefined })).toBe(false);
    expect(await isInParts(10, { inParts: true })).toBe(true);
    expect(await isInParts(10, { inParts: true, uploadParts: undefined })).toBe('invalid-request');
  });

  test('has parts of 8 MiB, longer ones where there would be too many, and as the service wants them', () => {
    expect(chooseSegmentsPerPart(10, UPLOAD_PARTS)).toBe(128);
    expect(chooseSegmentsPerPart(1000 * 128 * 65_536, UPLOAD_PARTS)).toBe(128);
    expect(chooseSegmentsPerPart(1000 * 128 * 65_536 + 1, UPLOAD_PARTS)).toBe(129);
    expect(chooseSegmentsPerPart(10, { ...UPLOAD_PARTS, minBytes: partBytes(200) })).toBe(200);
    expect(chooseSegmentsPerPart(10, { ...UPLOAD_PARTS, minBytes: partBytes(200) + 1 })).toBe(201);
    expect(chooseSegmentsPerPart(10, { ...UPLOAD_PARTS, maxBytes: partBytes(100) })).toBe(100);
    expect(partBytes(chooseSegmentsPerPart(98e9, UPLOAD_PARTS))).toBeLessThan(UPLOAD_PARTS.maxBytes);
    expect(() => chooseSegmentsPerPart(100e9, UPLOAD_PARTS)).toThrow('at most 98,959,360,000 bytes');
  });

  test('has parts of 16 MiB where they are read while they are sent, and several connections have enough of them', async () => {
    const { service } = start();
    const readable = (size: number): Source => {
      const nothing = { fill: async () => new Uint8Array(), cancel: async () => {} };
      return {
        name: 'a',
        size,
        stream: () => inPieces(patterned(0)),
        slice: () => ({ ...source('a', patterned(0)), feed: () => nothing }),
      };
    };
    const segmentsOf = async (file: Source, encryption?: typeof nodeEncryption, limits = UPLOAD_PARTS) => {
      const transport = { ...service.transport(), ...(encryption ? { encryption } : {}) };
      const client = new MayflyClient({ baseUrl: 'https://mayfly.example', transport });
      const begun = Promise.withResolvers<number>();
      const uploading = client.uploadFiles([file], {
        ...UPLOAD,
        uploadParts: limits,
        onUnfinished({ segmentsPerPart }) {
          begun.resolve(segmentsPerPart);
          throw new Error('enough is known');
        },
      });
      await expect(uploading).rejects.toThrow();
      return begun.promise;
    };
    const large = 3 * 256 * 65_536 + 1;
    expect(await segmentsOf(readable(large), nodeEncryption)).toBe(256);
    expect(await segmentsOf(readable(large - 1), nodeEncryption)).toBe(128);
    expect(await segmentsOf(readable(large))).toBe(128);
    const { slice: _, ...passing } = readable(large);
    expect(await segmentsOf(passing, nodeEncryption)).toBe(128);
    expect(await segmentsOf(readable(large), nodeEncryption, { ...UPLOAD_PARTS, maxBytes: partBytes(200) })).toBe(200);
  });

  test('is padded as far as the service takes it', async () => {
    const { client, service } = start();
    for (const size of [PADDED - 10, PADDED]) {
      const files = [source('a', patterned(SIZE))];
      const options = { ...UPLOAD, uploadParts: { ...uploadParts, maxFileSize: partedSize(size, 1) } };
      expect(uploadSize(files, options)).toBe(partedSize(size, 1));
      const spool = () => Promise.reject(new Error());
      const { id } = await client.uploadFiles(files, options);
      const stream = await client.uploadStream(source('a', patterned(SIZE)), { ...options, spool });
      for (const upload of [id, stream.id]) {
        const { parts = new Map() } = service.sessions.get(upload) ?? {};
        expect([...parts.values()].reduce((sum, part) => sum + part.length, 0)).toBe(partedSize(size, 1));
      }
      expect(await received(client, stream.link)).toEqual({ a: digest(patterned(SIZE)) });
    }
    // What does not fit, with padding or without, is said before anything is sent.
    const few = { ...UPLOAD, uploadParts: { ...uploadParts, maxParts: 10, maxFileSize: 10 * partBytes(1) + 100 } };
    service.requests.length = 0;
    const tooLarge = { code: 'too-large', message: 'The service takes at most 655,360 bytes in parts' };
    await expect(client.uploadFiles([source('a', patterned(SIZE))], few)).rejects.toMatchObject(tooLarge);
    expect(service.requests).toEqual([]);
    const streaming = client.uploadStream(source('a', patterned(SIZE)), { ...few, spool: () => Promise.reject() });
    await expect(streaming).rejects.toMatchObject({ code: 'too-large' });
    expect(service.requests.at(-1)).toBe('DELETE /api/parts/ID');
    const limit = partedSize(SIZE, 1);
    const most = { ...UPLOAD, uploadParts: { ...uploadParts, maxFileSize: limit } };
    expect(uploadSize([source('a', patterned(SIZE))], most)).toBe(limit);
    expect(uploadSize([source('a', patterned(SIZE + 1))], most)).toBe(limit + 1);
  });

  test('may have a length that nobody knows, and is sent in one piece when it ends within a part', async () => {
    const { service, client } = start();
    const spool = () => Promise.reject(new Error('nothing is spooled'));
    const options = { ...UPLOAD, spool }; // more than fits is allowed: as much as fits is announced
    for (const size of [65_537, 4 * 65_536, SIZE]) {
      const { link } = await client.uploadStream({ name: 'a', stream: () => inPieces(patterned(size)) }, options);
      expect(await received(client, link)).toEqual({ a: digest(patterned(size)) });
    }
    service.requests.length = 0;
    const short = { name: 'a', stream: () => inPieces(patterned(65_536)) };
    await expect(client.uploadStream(short, options)).rejects.toMatchObject({ code: 'not-found' });
    expect(service.requests).toEqual(['POST /api/upload']);
    service.requests.length = 0;
    const few = { ...uploadParts, maxParts: 20 };
    const endless = {
      name: 'a',
      stream: () => new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(patterned(1e5)) }),
    };
    await expect(client.uploadStream(endless, { ...options, uploadParts: few })).rejects.toMatchObject({
      code: 'too-large',
    });
    expect(service.requests.at(-1)).toBe('DELETE /api/parts/ID');
  });

  test('stops when a stream of unknown length has stopped, and when it breaks', async () => {
    const { service, client } = start();
    const options = { ...UPLOAD, spool: () => Promise.reject(new Error()) };
    for (const chunks of [[], [patterned(200_000)]]) {
      const controller = new AbortController();
      const cancelled = Promise.withResolvers<void>();
      const stream = () => {
        const rest = [...chunks];
        return new ReadableStream<Uint8Array>({
          pull(to) {
            const chunk = rest.shift();
            if (chunk) return to.enqueue(chunk);
            setTimeout(() => controller.abort(), 20);
            return new Promise(() => {});
          },
          cancel: () => cancelled.resolve(),
        });
      };
      const uploading = client.uploadStream({ name: 'a', stream }, { ...options, signal: controller.signal });
      await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
      await cancelled.promise;
    }
    const broken = () => new ReadableStream<Uint8Array>({ pull: (to) => to.error(new Error('EIO')) });
    await expect(client.uploadStream({ name: 'a', stream: broken }, options)).rejects.toMatchObject({
      code: 'bad-source',
    });
    expect(service.sessions.size).toBe(0);
  });
});

describe('an announced upload', () => {
  test.each<[string, (client: MayflyClient, options: object) => Promise<{ link: string }>, boolean]>([
    ['of files', (client, more) => client.uploadFiles([source('a', patterned(SIZE))], { ...UPLOAD, ...more }), true],
    [
      'of unknown length',
      (client, more) => {
        const spool = () => Promise.reject(new Error());
        const options = { ...UPLOAD, ...more, spool, inParts: true };
        return client.uploadStream({ name: 'a', stream: () => inPieces(patterned(SIZE)) }, options);
      },
      false,
    ],
  ])('%s has its link before anything is sent, and can be followed until it is there', async (_, upload, isKnown) => {
    const { service, client } = start();
    let announced: Created | undefined;
    const seen: unknown[] = [];
    const { link } = await upload(client, {
      async onAnnounced(created: Created) {
        announced = created;
        expect(service.requests.map((request) => request.split(' ')[1])).toEqual(['/api/parts']);
        seen.push(await client.getArrival(created.link));
      },
      onProgress: async () => announced && seen.push(await client.getArrival(announced.link)),
    });
    expect(announced?.link).toBe(link);
    const [total, endsAt] = [isKnown ? partedSize(PADDED, 1) : undefined, '2030-01-01T00:00:00.000Z'];
    expect(seen[0]).toEqual({ storedBytes: 0, totalBytes: total, endsAt });
    expect(seen[1]).toMatchObject({ storedBytes: expect.any(Number), totalBytes: total });
    expect(await client.getArrival(link)).toBeUndefined();
    expect(await received(client, link)).toEqual({ a: digest(patterned(SIZE)) });
    const silent = await upload(client, {});
    expect([...service.sessions.values()].map(({ upload }) => upload['x-announce'])).toEqual(['true', undefined]);
    expect(await client.getArrival(silent.link)).toBeUndefined();
  });

  test('whose link could not be given away is not sent', async () => {
    const { service, client } = start();
    const onAnnounced = () => Promise.reject(new Error('nobody listens'));
    const uploading = client.uploadFiles([source('a', patterned(SIZE))], { ...UPLOAD, onAnnounced });
    await expect(uploading).rejects.toThrow('nobody listens');
    expect(service.requests).toEqual(['POST /api/parts', 'DELETE /api/parts/ID']);
  });
});

test('a file that stops while it is sent in parts is left alone when the upload is stopped', async () => {
  const { client } = start();
  const controller = new AbortController();
  const { promise: cancelled, resolve } = Promise.withResolvers<void>();
  const stream = () =>
    new ReadableStream<Uint8Array>({
      pull() {
        setTimeout(() => controller.abort(), 20);
        return new Promise(() => {});
      },
      cancel: () => resolve(),
    });
  const uploading = client.uploadFiles([{ name: 'a', size: SIZE, stream }], { ...UPLOAD, signal: controller.signal });
  await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
  await cancelled;
});

describe('a network that fails', () => {
  const isPart = ({ method, path }: Request) => method === 'POST' && /\/\d+$/.test(path);

  test.each<[string, (count: number) => Fault]>([
    ['cuts connections', (count) => (count % 3 === 0 ? 'cut' : undefined)],
    ['loses answers', (count) => (count % 3 === 0 ? 'lost answer' : undefined)],
    ['is 503 now and then', (count) => (count % 4 === 0 ? { status: 503, body: {} } : undefined)],
    ['is away for a while', (count) => (count > 6 && count < 30 ? 'cut' : undefined)],
    ['times out', (count) => (count === 5 ? { status: 408, body: {} } : undefined)],
  ])('%s: everything arrives', async (_, fault) => {
    const { service, client } = start();
    let count = 0;
    service.fault = ({ path }) => {
      if (path === '/api/parts' || !path.startsWith('/api/parts')) return undefined;
      count += 1;
      return fault(count);
    };
    const { link } = await client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    service.fault = () => undefined;
    expect(await received(client, link)).toEqual({ a: digest(patterned(SIZE)) });
  });

  test('does not have a part sent again whose answer alone was lost', async () => {
    const { service, client } = start();
    let isLost = false;
    service.fault = (request) => {
      if (isLost || !isPart(request)) return undefined;
      isLost = true;
      return 'lost answer';
    };
    await client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    expect(service.requests.filter((request) => /POST .*\/\d+$/.test(request))).toHaveLength(PARTS);
    expect(service.requests.filter((request) => request.startsWith('GET'))).toHaveLength(1);
  });

  test('has parts sent again that the service says it lacks, but not for ever', async () => {
    const { service, client } = start();
    let lost = 0;
    let isLosing = false;
    service.fault = ({ path }) => {
      if (!path.endsWith('/complete') || (lost > 0 && !isLosing)) return undefined;
      lost += 1;
      for (const { parts } of service.sessions.values()) for (const number of [2, 7, 11]) parts.delete(number);
      return undefined;
    };
    const { link } = await client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    expect(await received(client, link)).toEqual({ a: digest(patterned(SIZE)) });
    expect(service.requests.filter((request) => /POST .*\/\d+$/.test(request))).toHaveLength(PARTS + 3);
    isLosing = true;
    service.requests.length = 0;
    const uploading = client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    await expect(uploading).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The service loses what it is sent',
    });
    expect(service.requests.filter((request) => request.endsWith('/complete'))).toHaveLength(3);
    const once = () => inPieces(patterned(SIZE));
    const options = { ...UPLOAD, spool: () => Promise.reject(new Error()) };
    const streaming = client.uploadStream({ name: 'a', stream: once }, options);
    await expect(streaming).rejects.toMatchObject({ message: 'The service has lost what cannot be read again' });
  });

  test.each<[string, Fault | 'refused', number]>([
    ['is 503', { status: 503, body: {} }, 3],
    ['asks for patience', { status: 429, headers: { 'retry-after': '40' }, body: {} }, 3],
    ['refuses the connection', 'refused', 3],
    ['breaks the connection', 'cut', 1],
    ['is 502', { status: 502, body: {} }, 1],
    ['is 429 and does not say for how long', { status: 429, body: {} }, 1],
  ])('%s before the upload begins: it is begun again only where nothing came of it', async (_, fault, tries) => {
    const { service, clock } = start();
    let count = 0;
    const inner = service.transport();
    const transport: Transport = {
      async send(request) {
        if (!request.url.endsWith('/api/parts')) return inner.send(request);
        count += 1;
        const isFailing = count < 3;
        if (isFailing && fault === 'refused') throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
        service.fault = ({ path }) => (isFailing && path === '/api/parts' ? (fault as Fault) : undefined);
        return inner.send(request);
      },
    };
    const client = new MayflyClient({ baseUrl: 'https://mayfly.example', transport, clock });
    const uploading = client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    const outcome = await uploading.then(
      () => 'sent',
      () => 'failed',
    );
    expect([outcome, count]).toEqual([tries === 3 ? 'sent' : 'failed', tries]);
    expect(service.sessions.size).toBe(tries === 3 ? 1 : 0);
    const waits = clock.sleeps.map(({ ms }) => ms);
    if (typeof fault === 'object' && fault.headers) expect(Math.min(...waits)).toBeGreaterThanOrEqual(40_000);
  });

  test('is waited for while the service completes, as long as it says', async () => {
    const { service, clock, client } = start();
    service.completingLooks = 3;
    const { link } = await client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    expect(await received(client, link)).toEqual({ a: digest(patterned(SIZE)) });
    expect(clock.sleeps.map(({ ms }) => ms).slice(0, 2)).toEqual([2000, 2000]);
  });

  test('is given up in the end: what nobody can resume is deleted, and the session is not asked for again', async () => {
    const { service, clock, client } = start();
    service.fault = (request) => (isPart(request) ? 'cut' : undefined);
    const troubles: string[] = [];
    const options = { ...UPLOAD, patienceMs: 60_000, onTrouble: ({ code }: { code: string }) => troubles.push(code) };
    await expect(client.uploadFiles([source('a', patterned(SIZE))], options)).rejects.toMatchObject({
      code: 'network',
    });
    expect(clock.nowMs).toBeLessThan(120_000);
    expect(troubles.length).toBeGreaterThan(3);
    expect(service.sessions.size).toBe(0);
    service.fault = ({ path }) => (path === '/api/parts' ? 'cut' : undefined);
    service.requests.length = 0;
    await expect(client.uploadFiles([source('a', patterned(SIZE))], UPLOAD)).rejects.toMatchObject({ code: 'network' });
    expect(clock.sleeps.length).toBe(troubles.length);
  });

  test.each([401, 400, 409])('is not what %i means: it is told at once', async (status) => {
    const { service, clock, client } = start();
    service.fault = (request) => (isPart(request) ? { status, body: { error: 'No' } } : undefined);
    const uploading = client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    await expect(uploading).rejects.toMatchObject({ code: status === 401 ? 'wrong-token' : 'invalid-request' });
    expect(clock.sleeps).toEqual([]);
  });
});

describe('an upload that was interrupted', () => {
  const secretsOf = ({ link, secret, ownerSecret }: UnfinishedUpload) => [
    secret,
    ownerSecret,
    link.split('#')[1] as string,
  ];

  test('goes on with what is missing, by whoever has what was kept and the same files', async () => {
    const began = start();
    const { service, clock } = began;
    const files = [source('a', patterned(SIZE), 5), source('b/c', patterned(100_000), 6)];
    const unfinished = await interrupted(began, files, 4);
    const again = new MayflyClient({ baseUrl: 'https://elsewhere.example', transport: service.transport(), clock });
    const before = await again.getStoredBytes(unfinished);
    expect(before.storedBytes).toBeGreaterThanOrEqual(4 * partBytes(1));
    expect(before.totalBytes).toBe(uploadSize(files, UPLOAD));
    service.requests.length = 0;
    const steps: number[] = [];
    const created = await again.resumeUpload(unfinished, files, { onProgress: (done) => steps.push(done) });
    expect(steps[0]).toBe(before.storedBytes);
    const sent = service.requests.filter((request) => /POST .*\/\d+$/.test(request)).length;
    expect(sent).toBe(Math.ceil(before.totalBytes / partBytes(1)) - before.storedBytes / partBytes(1));
    expect(created).toEqual({
      kind: 'upload',
      id: unfinished.id,
      link: unfinished.link,
      ownerSecret: unfinished.ownerSecret,
    });
    expect(await received(again, created.link)).toEqual({
      a: digest(patterned(SIZE)),
      'b/c': digest(patterned(100_000)),
    });
  });

  test('does not read what is stored, where a file can be read from its middle', async () => {
    const began = start();
    const read: number[] = [];
    const content = patterned(SIZE);
    const slice = (from: number) => ({
      stream: () => {
        read.push(content.length - from);
        return inPieces(content.subarray(from));
      },
    });
    const file = { name: 'a', size: SIZE, lastModified: 5, slice, stream: () => slice(0).stream() };
    const unfinished = await interrupted(began, [file], 6);
    read.length = 0;
    const { link } = await began.client.resumeUpload(unfinished, [file]);
    expect(await received(began.client, link)).toEqual({ a: digest(content) });
    expect(read).toHaveLength(1);
    expect(read[0]).toBeLessThanOrEqual(SIZE - 6 * 65_536);
  });

  test('has the same padding again, and nothing is read for it', async () => {
    const began = start();
    const size = 2 ** 22 + 1; // 65 segments, and another one of padding
    const file = source('a', patterned(size), 5);
    const unfinished = await interrupted(began, [file], 10);
    const stream = () => new ReadableStream<Uint8Array>({ pull: (to) => to.error(new Error('read')) });
    const unreadable = { ...file, stream, slice: () => ({ stream }) };
    await expect(began.client.resumeUpload(unfinished, [unreadable])).rejects.toMatchObject({ code: 'bad-source' });
    const { link } = await began.client.resumeUpload(unfinished, [file]);
    expect(await received(began.client, link)).toEqual({ a: digest(patterned(size)) });
    const session = [...began.service.sessions.values()][0];
    if (!session) throw new Error('there is none');
    session.isComplete = false;
    session.parts.delete(66);
    await began.client.resumeUpload(unfinished, [unreadable]);
    expect(await received(began.client, link)).toEqual({ a: digest(patterned(size)) });
  });

  test('needs no file when everything is stored: what has changed since does not matter', async () => {
    const began = start();
    const { service, client } = began;
    service.fault = ({ path }) => (path.endsWith('/complete') ? 'cut' : undefined);
    for (const contents of [[patterned(SIZE)], [patterned(100_000), patterned(70_000)]]) {
      let unfinished: UnfinishedUpload | undefined;
      const onUnfinished = (kept: UnfinishedUpload) => {
        unfinished = kept;
      };
      const files = contents.map((content, index) => source(`${index}`, content, 5));
      service.fault = ({ path }) => (path.endsWith('/complete') ? 'cut' : undefined);
      const uploading = client.uploadFiles(files, { ...UPLOAD, onUnfinished, patienceMs: 0 });
      await expect(uploading).rejects.toMatchObject({ code: 'network' });
      service.fault = () => undefined;
      if (!unfinished) throw new Error('nothing was kept');
      const changed = files.map((file) => ({ ...file, size: 1 }));
      const { link } = await client.resumeUpload(unfinished, files.length > 1 ? changed : undefined);
      const expected = contents.map((content, index) => [`${index}`, digest(content)]);
      expect(await received(client, link)).toEqual(Object.fromEntries(expected));
      expect(await client.resumeUpload(unfinished, [])).toMatchObject({ link });
    }
  });

  test('was completed, though it has been used up since', async () => {
    const began = start();
    const { service, client } = began;
    const unfinished = await interrupted(began, [source('a', patterned(SIZE), 5)], 3);
    service.fault = () => ({ status: 410, body: { error: 'Upload expired or download limit reached' } });
    const { storedBytes, totalBytes } = await client.getStoredBytes(unfinished);
    expect(storedBytes).toBe(totalBytes);
    expect(await client.resumeUpload(unfinished)).toMatchObject({ id: unfinished.id, link: unfinished.link });
    service.fault = ({ path }) =>
      path.endsWith('/complete')
        ? { status: 410, body: { error: 'Upload expired or download limit reached' } }
        : undefined;
    await client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
  });

  test('is refused with files that have changed, before anything is sent', async () => {
    const began = start();
    const content = patterned(SIZE);
    const unfinished = await interrupted(began, [source('a', content, 5)], 3);
    began.service.requests.length = 0;
    for (const [files, message] of [
      [[source('a', content, 6)], 'a has changed since'],
      [[source('a', patterned(SIZE + 1), 5)], 'a has changed since'],
      [[source('b', content, 5)], 'a was being sent, not b'],
      [[source('a', content, 5), source('b', content)], 'These are not the files that were being sent'],
      [[], 'These are not the files that were being sent'],
    ] as const) {
      const resuming = began.client.resumeUpload(unfinished, [...files]);
      await expect(resuming).rejects.toMatchObject({ code: 'bad-source', message });
    }
    expect(new Set(began.service.requests)).toEqual(new Set(['GET /api/parts/ID']));
    // Without a time there is only the size to go by.
    await began.client.resumeUpload(unfinished, [source('a', content)]);
  });

  test('is done when its last answer was lost, and keeps its link with a password', async () => {
    const { service, clock, client } = start();
    let unfinished: UnfinishedUpload | undefined;
    service.fault = ({ path }) => (path.endsWith('/complete') ? 'lost answer' : undefined);
    const unsafePasswordCost = { argon2id: { memoryKiB: 8, passes: 1 }, pbkdf2: { iterations: 1 } };
    const options = {
      ...UPLOAD,
      patienceMs: 0,
      password: 'right',
      onUnfinished(kept: UnfinishedUpload) {
        unfinished = kept;
      },
    };
    const cheap = new MayflyClient({
      baseUrl: 'https://mayfly.example',
      transport: service.transport(),
      clock,
      unsafePasswordCost,
    });
    const uploading = cheap.uploadFiles([source('a', patterned(SIZE), 5)], options);
    await expect(uploading).rejects.toMatchObject({ code: 'network' });
    service.fault = () => undefined;
    if (!unfinished) throw new Error('nothing was kept');
    const created = await client.resumeUpload(unfinished, [source('a', patterned(SIZE), 5)]);
    expect(created.link).toBe(unfinished.link);
    expect(created.link).not.toContain(unfinished.secret);
  });

  test('ends when it is cancelled, and its time', async () => {
    const began = start();
    const files = [source('a', patterned(SIZE), 5)];
    const unfinished = await interrupted(began, files, 2);
    await began.client.cancelUpload(unfinished);
    expect(began.service.sessions.size).toBe(0);
    await expect(began.client.resumeUpload(unfinished, files)).rejects.toMatchObject({ code: 'upload-ended' });
    began.service.fault = () => ({ status: 410, body: { error: 'Upload session has ended' } });
    await expect(began.client.resumeUpload(unfinished, files)).rejects.toMatchObject({ code: 'upload-ended' });
  });

  test('tells no secret in what it throws', async () => {
    const began = start();
    const files = [source('a', patterned(SIZE), 5)];
    const unfinished = await interrupted(began, files, 2);
    const secrets = secretsOf(unfinished);
    const failures: unknown[] = [];
    const resume = (kept: UnfinishedUpload, some = files) =>
      began.client.resumeUpload(kept, some, { patienceMs: 0 }).catch((error) => failures.push(error));
    await resume(unfinished, [source('a', patterned(5), 5)]);
    for (const fault of [
      'cut',
      { status: 401, body: {} },
      { status: 503, body: {} },
      { status: 404, body: {} },
    ] as const) {
      began.service.fault = () => fault;
      await resume(unfinished);
    }
    await resume({ ...unfinished, secret: `${unfinished.secret}x`, salt: 'x' });
    await resume({ ...unfinished, ownerSecret: `${unfinished.ownerSecret}x` });
    expect(failures).toHaveLength(7);
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: 'MayflyError' });
      const { stack, message, cause } = failure as Error;
      for (const secret of secrets)
        expect(`${stack} ${message} ${cause} ${(cause as Error)?.stack}`).not.toContain(secret);
    }
  });

  test('however often and wherever it is, arrives as it was', async () => {
    const many = fc.array(fc.nat(3), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(many, fc.integer({ min: 65_537, max: 500_000 }), async (stops, size) => {
        const began = start();
        const { service, client } = began;
        const files = [source('a', patterned(size), 5)];
        const unfinished = await interrupted(began, files, 0);
        for (const steps of stops) {
          const controller = new AbortController();
          let left = steps;
          service.fault = ({ method }) => {
            if (method === 'POST') left -= 1;
            if (left < 0) controller.abort();
            return left % 2 === 0 ? 'lost answer' : undefined;
          };
          await client.resumeUpload(unfinished, files, { signal: controller.signal }).catch(() => {});
        }
        service.fault = () => undefined;
        const { link } = await client.resumeUpload(unfinished, files);
        expect(await received(client, link)).toEqual({ a: digest(patterned(size)) });
      }),
      { numRuns: 25 },
    );
  });
});

describe.each([
  ['node', nodeTransport],
  ['fetch', fetchTransport],
] as const)('parts through the %s transport', (_, buildTransport) => {
  test('have their Content-Length and arrive, though connections are cut', async () => {
    const service = new FakePartsService();
    const lengths: (string | undefined)[] = [];
    let count = 0;
    service.isCut = ({ path, headers }) => {
      if (!/\/\d+$/.test(path)) return false;
      lengths.push(headers['content-length']);
      count += 1;
      return count % 4 === 0;
    };
    await using server = await service.listen();
    const clock = new FakeClock();
    const client = new MayflyClient({ baseUrl: server.baseUrl, transport: buildTransport(), clock });
    const { id } = await client.uploadFiles([source('a', patterned(SIZE))], UPLOAD);
    expect(service.sessions.get(id)?.isComplete).toBe(true);
    expect(new Set(lengths)).toEqual(new Set([String(partBytes(1)), String(56 + 2 ** 14 + 16)]));
    expect(count).toBeGreaterThan(PARTS);
  });
});
