import { randomInt } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { MayflyClient, newLease } from '../src/index.ts';
import { collect } from './bytes.ts';
import { FakeClock } from './fake-clock.ts';
import { LeasedService, type Sealed, sealUpload, type UploadShape } from './leased-upload.ts';
import { patterned } from './reference.ts';

const SEGMENT = 65_536;
const downloadLeases = { idleSec: 3600 };
const SHAPES: [string, UploadShape][] = [
  ['format 1', {}],
  ['format 2', { segmentsPerPart: 3 }],
];

function serve(sealed: Sealed) {
  const service = new LeasedService(sealed);
  const clock = new FakeClock();
  const client = () => new MayflyClient({ baseUrl: 'http://service', transport: service, clock });
  return { service, client };
}

describe.each(SHAPES)('a kept download of %s', (_, shape) => {
  const sizes = [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT - 1, 3 * SEGMENT, 3 * SEGMENT + 1, 500_000];
  test.each(sizes)('of %i bytes goes on at any byte, and brings the rest', async (size) => {
    const content = patterned(size);
    const sealed = await sealUpload(content, shape);
    const { service, client } = serve(sealed);
    const lease = newLease();
    const options = { lease, downloadLeases };
    expect((await collect((await client().download(sealed.link, options)).payload)).equals(content)).toBe(true);
    const starts = [0, 1, size - 1, size, SEGMENT - 1, SEGMENT, 3 * SEGMENT, randomInt(size + 1)];
    for (const startBytes of new Set(starts.filter((start) => start >= 0 && start <= size))) {
      const steps: number[] = [];
      const onProgress = (done: number) => steps.push(done);
      const sentBefore = service.sentBytes;
      const rest = await client().download(sealed.link, { ...options, startBytes, onProgress });
      expect(rest.size).toBe(size);
      expect((await collect(rest.payload)).equals(content.subarray(startBytes))).toBe(true);
      if (startBytes < size) expect(steps.at(-1)).toBe(size);
      // Not more than a segment, headers and tags that were not asked for.
      expect(service.sentBytes - sentBefore).toBeLessThan(size - startBytes + SEGMENT + 1000);
    }
    expect(service.ended).toBe(0);
    await client().endLease(sealed.link, lease);
    expect(service.ended).toBe(1);
  });

  test('cut at any byte, by one process after the other, is whole and one download', async () => {
    const content = patterned(2_000_000);
    const sealed = await sealUpload(content, shape);
    const { service, client } = serve(sealed);
    const lease = newLease();
    let received: Buffer = Buffer.alloc(0);
    service.cutAfter = (bytes) => randomInt(0, bytes + 1);
    while (received.length < content.length) {
      const controller = new AbortController();
      const options = { lease, downloadLeases, startBytes: received.length, signal: controller.signal };
      const { payload } = await client().download(sealed.link, options);
      const enough = received.length + randomInt(1, 300_000);
      try {
        for await (const piece of payload) {
          received = Buffer.concat([received, piece]);
          if (received.length >= enough) break;
        }
      } finally {
        controller.abort();
      }
    }
    expect(received.equals(content)).toBe(true);
    expect(service.leases).toEqual(new Set([lease]));
    const asked = service.ranges.map(({ headers }) => headers['X-Download-Continues']);
    expect(asked.slice(1).every((continues) => continues === 'true')).toBe(true);
  });

  test('refuses whatever is not what was encrypted at its place', async () => {
    const content = patterned(6 * SEGMENT + 5);
    const sealed = await sealUpload(content, shape);
    const startBytes = 4 * SEGMENT + 1;
    const isTampered = async (changed: Buffer<ArrayBuffer>) => {
      const { service, client } = serve({ ...sealed, payload: changed });
      service.leases.add('x'.repeat(43));
      const open = async () => {
        const options = { lease: 'x'.repeat(43), downloadLeases, startBytes, patienceMs: 10_000 };
        return collect((await client().download(sealed.link, options)).payload);
      };
      await expect(open()).rejects.toMatchObject({ code: 'tampered' });
    };
    const { payload } = sealed;
    const flipped = Buffer.from(payload);
    flipped.writeUInt8(flipped.readUInt8(payload.length - 100) ^ 1, payload.length - 100);
    await isTampered(flipped);
    const otherHeader = Buffer.from(payload);
    for (const at of [1, 6]) otherHeader.writeUInt8(otherHeader.readUInt8(at) ^ 1, at);
    if (!shape.segmentsPerPart) await isTampered(otherHeader);
    const other = await sealUpload(patterned(6 * SEGMENT + 5), shape);
    await isTampered(Buffer.concat([payload.subarray(0, -1), other.payload.subarray(-1)]));
    await isTampered(other.payload);
    await isTampered(payload.subarray(0, startBytes)); // its end is not where the service says
  });
});

test('padding is verified to its end by what is continued, too', async () => {
  const content = patterned(100_000);
  const sealed = await sealUpload(content, { segmentsPerPart: 2, paddedSize: 400_000 });
  const { client } = serve(sealed);
  const options = { lease: newLease(), downloadLeases };
  expect((await collect((await client().download(sealed.link, options)).payload)).equals(content)).toBe(true);
  const rest = await client().download(sealed.link, { ...options, startBytes: content.length });
  expect(await collect(rest.payload)).toHaveLength(0);

  const unpadded = Buffer.concat([content, Buffer.alloc(299_999), Buffer.of(1)]);
  const wrong = await sealUpload(unpadded, { segmentsPerPart: 2, size: content.length });
  const service = serve(wrong);
  for (const startBytes of [0, 70_000, content.length]) {
    const { payload } = await service.client().download(wrong.link, { ...options, startBytes });
    await expect(collect(payload)).rejects.toMatchObject({ code: 'tampered' });
  }
});

test('a lease that has ended is said to have, and no other one is opened', async () => {
  const content = patterned(300_000);
  const sealed = await sealUpload(content);
  const { service, client } = serve(sealed);
  const options = { lease: newLease(), downloadLeases };
  const first = await client().download(sealed.link, options);
  service.cutAfter = () => 70_000;
  const reader = first.payload.getReader();
  await reader.read();
  await reader.cancel();
  await client().endLease(sealed.link, options.lease);
  const ended = { code: 'download-ended', status: 410 };
  const count = service.requests.length;
  await expect(client().download(sealed.link, { ...options, startBytes: 65_536 })).rejects.toMatchObject(ended);
  await expect(client().download(sealed.link, { ...options, isContinued: true })).rejects.toMatchObject(ended);
  expect(service.leases.size).toBe(0);
  expect(service.requests.length).toBeGreaterThan(count);
  // Another one has used it up meanwhile.
  service.leases.add(newLease());
  await expect(client().download(sealed.link, { ...options, startBytes: 65_536 })).rejects.toMatchObject(ended);
  await expect(client().download(sealed.link, options)).rejects.toMatchObject({ code: 'used-up' });
  await client().endLease(sealed.link, options.lease); // there is nobody to tell
});

test('ended while it is read: the stream says so', async () => {
  const sealed = await sealUpload(patterned(300_000));
  const { service, client } = serve(sealed);
  service.cutAfter = () => {
    service.leases.clear();
    return 70_000;
  };
  const { payload } = await client().download(sealed.link, { lease: newLease(), downloadLeases });
  await expect(collect(payload)).rejects.toMatchObject({ code: 'download-ended' });
});

test('without leases nothing is continued, and a byte that is not there is none to begin at', async () => {
  const sealed = await sealUpload(patterned(1000));
  const { service, client } = serve(sealed);
  const lease = newLease();
  const refused = { code: 'invalid-request' };
  await expect(client().download(sealed.link, { lease, startBytes: 5 })).rejects.toMatchObject(refused);
  expect(service.leases.size).toBe(0);
  service.leases.add(lease);
  for (const startBytes of [1001, 0.5, -1]) {
    const options = { lease, downloadLeases, startBytes };
    await expect(client().download(sealed.link, options)).rejects.toMatchObject(refused);
  }
  expect(service.ranges).toHaveLength(0);
});
