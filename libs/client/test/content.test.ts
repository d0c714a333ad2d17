import { randomInt } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type ContentOptions, MayflyClient, newLease } from '../src/index.ts';
import { collect } from './bytes.ts';
import { FakeClock } from './fake-clock.ts';
import { LeasedService, type Sealed, sealUpload, type UploadShape } from './leased-upload.ts';
import { patterned } from './reference.ts';

const SEGMENT = 65_536;
const SHAPES: [string, UploadShape][] = [
  ['format 1', {}],
  ['format 2', { segmentsPerPart: 5 }],
];

async function open(sealed: Sealed, options: ContentOptions = {}) {
  const service = new LeasedService(sealed);
  const client = new MayflyClient({ baseUrl: 'http://service', transport: service, clock: new FakeClock() });
  return { service, content: await client.openContent(sealed.link, { downloadLeases: { idleSec: 3600 }, ...options }) };
}

describe.each(SHAPES)('content of %s', (_, shape) => {
  test.each([0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 5 * SEGMENT - 1, 5 * SEGMENT, 5 * SEGMENT + 1, 900_000])(
    'of %i bytes: any range of it is what was sent',
    async (size) => {
      const plaintext = patterned(size);
      const { content } = await open(await sealUpload(plaintext, shape));
      expect(content.size).toBe(size);
      const edges = [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 5 * SEGMENT, size - 1, size, randomInt(size + 1)];
      const inside = [...new Set(edges)].filter((edge) => edge >= 0 && edge <= size);
      for (const startBytes of inside) {
        for (const endBytes of inside.filter((end) => end >= startBytes)) {
          const read = await collect(content.read(startBytes, endBytes));
          expect(read.equals(plaintext.subarray(startBytes, endBytes))).toBe(true);
        }
      }
    },
  );

  test('twenty ranges at once, each cut at any byte, are whole, under one lease, and never more than eight at a time', async () => {
    const plaintext = patterned(12_000_000);
    const { service, content } = await open(await sealUpload(plaintext, shape));
    service.cutAfter = (bytes) => (randomInt(3) === 0 ? undefined : randomInt(0, bytes + 1));
    const reads = Array.from({ length: 20 }, async (_, index) => {
      const startBytes = index * 600_000 - (index > 0 ? 1 : 0);
      const endBytes = Math.min(startBytes + randomInt(1, 700_000), plaintext.length);
      const read = await collect(content.read(startBytes, endBytes));
      expect(read.equals(plaintext.subarray(startBytes, endBytes))).toBe(true);
    });
    await Promise.all(reads);
    expect(service.leases.size).toBe(1);
    expect(service.mostAtOnce).toBeGreaterThan(1);
    expect(service.mostAtOnce).toBeLessThanOrEqual(8);
    await content.end();
    expect(service.ended).toBe(1);
  });

  test('what is read bit by bit travels once', async () => {
    const plaintext = patterned(3_000_000);
    const sealed = await sealUpload(plaintext, shape);
    const { service, content } = await open(sealed);
    for (let at = 0; at < plaintext.length; at += 10_000) {
      await collect(content.read(at, at + 10_000));
    }
    for (let at = 0; at < 50; at += 1) await collect(content.read(2_900_000 + at, 2_900_050 + at)); // read lately
    const headers = Math.ceil(plaintext.length / 5 / SEGMENT) * 56;
    expect(service.sentBytes).toBeLessThanOrEqual(sealed.payload.length + headers);
  });

  test('whoever looks into it and goes away has little of it sent', async () => {
    const plaintext = patterned(8_000_000);
    const { service, content } = await open(await sealUpload(plaintext, shape));
    for (const at of [0, 7_000_000, 3_000_000]) {
      const reader = content.read(at, plaintext.length).getReader();
      await reader.read();
      await reader.cancel();
    }
    expect(service.sentBytes).toBeLessThan(3 * 600_000);
    expect(service.atOnce).toBe(0);
  });

  test('a segment that was changed is refused, and so is an end that is another one', async () => {
    const plaintext = patterned(900_000);
    const sealed = await sealUpload(plaintext, shape);
    const other = await sealUpload(plaintext, shape);
    const flipped = Buffer.from(sealed.payload);
    flipped.writeUInt8(flipped.readUInt8(500_000) ^ 1, 500_000);
    for (const payload of [flipped, other.payload, sealed.payload.subarray(0, 450_000)]) {
      const { content } = await open({ ...sealed, payload }, { patienceMs: 10_000 });
      await expect(collect(content.read(490_000, 600_000))).rejects.toMatchObject({ code: 'tampered' });
    }
  });
});

test('a range goes on reading only as fast as it is read', async () => {
  const sealed = await sealUpload(patterned(30_000_000), { segmentsPerPart: 128 });
  const { service, content } = await open(sealed);
  const reader = content.read(0, 30_000_000).getReader();
  for (let read = 0; read < 200; read += 1) await reader.read();
  const before = service.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(service.requests.length).toBe(before);
  expect(service.sentBytes).toBeLessThan(200 * SEGMENT + 6 * 2 ** 20);
  await reader.cancel();
});

test('padding does not travel', async () => {
  const plaintext = patterned(100_000);
  const sealed = await sealUpload(plaintext, { segmentsPerPart: 2, paddedSize: 1_000_000 });
  const { service, content } = await open(sealed);
  expect((await collect(content.read(0, 100_000))).equals(plaintext)).toBe(true);
  expect(service.sentBytes).toBeLessThan(140_000);
});

test('what several want at once travels once', async () => {
  const plaintext = patterned(1_500_000);
  const sealed = await sealUpload(plaintext);
  const { service, content } = await open(sealed);
  const reads = Array.from({ length: 30 }, async (_, index) => {
    const startBytes = index * 40_000;
    const read = await collect(content.read(startBytes, plaintext.length));
    expect(read.equals(plaintext.subarray(startBytes))).toBe(true);
  });
  await Promise.all(reads);
  expect(service.sentBytes).toBeLessThanOrEqual(sealed.payload.length + 30 * 8); // and headers
});

test('one reader who stops stops no other one', async () => {
  const plaintext = patterned(2_000_000);
  const sealed = await sealUpload(plaintext);
  const { content } = await open(sealed);
  const [one, other] = [content.read(500_000, 2_000_000).getReader(), content.read(600_000, 1_900_000)];
  const first = one.read();
  const rest = collect(other);
  await first;
  await one.cancel();
  expect((await rest).equals(plaintext.subarray(600_000, 1_900_000))).toBe(true);
});

test('reading nothing spends nothing, and a range that is none is refused', async () => {
  const sealed = await sealUpload(patterned(1000));
  const { service, content } = await open(sealed);
  expect(await collect(content.read(1000, 1000))).toHaveLength(0);
  for (const [startBytes, endBytes] of [
    [-1, 5],
    [5, 4],
    [0, 1001],
    [0.5, 1],
  ] as const) {
    expect(() => content.read(startBytes, endBytes)).toThrow(expect.objectContaining({ code: 'invalid-request' }));
  }
  expect(service.leases.size).toBe(0);
  await expect(open(sealed, { downloadLeases: undefined })).rejects.toMatchObject({ code: 'invalid-request' });
});

test('a lease that was kept is gone on with, and is never opened again', async () => {
  const plaintext = patterned(1_000_000);
  const sealed = await sealUpload(plaintext);
  const lease = newLease();
  const { service, content } = await open(sealed, { lease });
  await collect(content.read(0, 1000));
  const client = new MayflyClient({ baseUrl: 'http://service', transport: service });
  const options = { lease, isContinued: true, downloadLeases: { idleSec: 3600 } };
  const again = await client.openContent(sealed.link, options); // used up for everybody else
  expect((await collect(again.read(900_000, 1_000_000))).equals(plaintext.subarray(900_000))).toBe(true);
  await again.end();
  await expect(collect(content.read(500_000, 600_000))).rejects.toMatchObject({ code: 'download-ended' });
  const other = newLease();
  service.leases.add(other);
  await expect(client.openContent(sealed.link, options)).rejects.toMatchObject({ code: 'download-ended' });
  expect(service.leases).toEqual(new Set([other]));
});
