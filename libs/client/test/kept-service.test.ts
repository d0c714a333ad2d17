import { randomBytes, randomInt } from 'node:crypto';
import { inSuite } from '@mayfly/testing/in-suite';
import { startShape } from '@mayfly/testing/shapes';
import { describe, expect, test } from 'vitest';
import { MayflyClient, newLease, type Source, type Transport } from '../src/index.ts';
import { nodeTransport } from '../src/node/index.ts';
import { collect, inPieces } from './bytes.ts';
import { FakeClock } from './fake-clock.ts';

// The fake service of the other tests knows no budget: this is the service itself, behind connections that break.

const SEGMENT = 65_536;
const PART = 128 * SEGMENT;

const service = inSuite(() => startShape('all'));
const clientThrough = (transport: Transport) =>
  new MayflyClient({ baseUrl: service().baseUrl, transport, clock: new FakeClock() });
const config = inSuite(() => clientThrough(nodeTransport()).getConfig());

/** Every second answer under a lease breaks after some of its bytes. */
function cutting(): Transport {
  const transport = nodeTransport();
  return {
    async send(request) {
      const answer = await transport.send(request);
      const length = Number(answer.header('content-length'));
      const isPayload = request.method === 'GET' && /\/api\/lease\/[^/]*$/.test(request.url) && answer.status < 300;
      if (!isPayload || randomInt(2) === 0) return answer;
      return { ...answer, body: cutAfter(answer.body, randomInt(0, length + 1)) };
    },
  };
}

function cutAfter(body: ReadableStream<Uint8Array>, bytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = bytes;
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = left > 0 ? await reader.read() : {};
      if (done) return controller.close();
      if (value) controller.enqueue(value.subarray(0, left));
      left -= value?.length ?? 0;
      if (left > 0) return;
      await reader.cancel();
      controller.error(new Error('cut'));
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

async function send(content: Uint8Array, inParts: boolean, maxDownloads = 3) {
  const file: Source = { name: 'a', size: content.length, stream: () => inPieces(content, 1_000_000) };
  const { uploadParts } = config();
  return clientThrough(nodeTransport()).uploadFiles([file], { expireSec: 3600, maxDownloads, uploadParts, inParts });
}

/** By one process after the other, each of which ends somewhere in the middle. */
async function downloadInTurns(link: string, lease: string, size: number): Promise<Buffer> {
  const { downloadLeases } = config();
  let received = Buffer.alloc(0);
  for (let isWhole = false; !isWhole; ) {
    const controller = new AbortController();
    const { signal } = controller;
    const options = { lease, downloadLeases, startBytes: received.length, signal };
    const { payload } = await clientThrough(cutting()).download(link, options);
    const enough = received.length + randomInt(1, Math.max(2, Math.ceil(size / 2)));
    isWhole = true;
    for await (const piece of payload) {
      received = Buffer.concat([received, piece]);
      isWhole = received.length < enough;
      if (!isWhole) break;
    }
    controller.abort();
  }
  return received;
}

const SIZES = [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, PART - 1, PART, PART + 1];

describe.each([false, true])('in parts: %s', (inParts) => {
  test.each(SIZES)('%i bytes, cut wherever they are read, are whole, and one download', async (size) => {
    const content = randomBytes(size);
    const sent = await send(content, inParts);
    const lease = newLease();
    expect((await downloadInTurns(sent.link, lease, size)).equals(content)).toBe(true);

    const client = clientThrough(cutting());
    const { downloadLeases } = config();
    expect(await client.getUsage(sent)).toMatchObject({ usedCount: 1 });
    await client.endLease(sent.link, lease);
    const options = { lease, downloadLeases, startBytes: size, isContinued: true };
    await expect(client.download(sent.link, options)).rejects.toMatchObject({ code: 'download-ended' });
    expect(await client.getUsage(sent)).toMatchObject({ usedCount: 1 });
  });

  test.each(SIZES)('any pieces of %i bytes, cut wherever they are read, are whole, and one download', async (size) => {
    const content = randomBytes(size);
    const sent = await send(content, inParts);
    const client = clientThrough(cutting());
    const pieces = await client.openContent(sent.link, { downloadLeases: config().downloadLeases });
    expect(pieces.size).toBe(size);
    const reads = Array.from({ length: 12 }, async () => {
      const startBytes = randomInt(size + 1);
      const endBytes = Math.min(size, startBytes + randomInt(200_000));
      const read = await collect(pieces.read(startBytes, endBytes));
      expect(read.equals(content.subarray(startBytes, endBytes))).toBe(true);
    });
    await Promise.all(reads);
    expect(await client.getUsage(sent)).toMatchObject({ usedCount: size > 0 ? 1 : 0 });
    await pieces.end();
  });

  test.each([false, true])(
    'the last download is gone on with by whoever has its lease, and its password (sealed: %s)',
    async (sealedMetadata) => {
      const content = randomBytes(500_000);
      const file: Source = { name: 'a', size: content.length, stream: () => inPieces(content) };
      const { uploadParts, downloadLeases } = config();
      const options = { expireSec: 3600, maxDownloads: 1, uploadParts, inParts, sealedMetadata } as const;
      const client = clientThrough(nodeTransport());
      const { link } = await client.uploadFiles([file], { ...options, password: 'right' });
      const lease = newLease();
      const kept = { lease, downloadLeases, password: 'right' };
      const { payload } = await client.download(link, kept);
      await payload.cancel();
      await expect(client.download(link, { downloadLeases, password: 'right' })).rejects.toMatchObject({
        code: 'used-up',
      });
      const rest = await client.download(link, { ...kept, startBytes: 400_000 });
      expect((await collect(rest.payload)).equals(content.subarray(400_000))).toBe(true);
      const wrong = client.download(link, { ...kept, startBytes: 400_000, password: 'wrong' });
      await expect(wrong).rejects.toMatchObject({ code: 'wrong-password' });
      // Whoever has it may also learn what it is, and unlock the link with the password.
      await expect(client.getInfo(link)).rejects.toMatchObject({ code: 'used-up' });
      expect(await client.getInfo(link, { lease })).toMatchObject({ hasPassword: true, downloadCount: 1 });
      await expect(client.checkPassword(link, 'wrong', { lease })).rejects.toMatchObject({ code: 'wrong-password' });
      const unlocked = await client.checkPassword(link, 'right', { lease });
      expect((await client.getInfo(unlocked, { lease })).metadata?.files[0]?.size).toBe(content.length);
      await client.endLease(link, lease, { password: 'right' });
      await expect(client.getInfo(link, { lease })).rejects.toMatchObject({ code: 'download-ended' });
      await expect(client.download(link, { ...kept, startBytes: 5 })).rejects.toMatchObject({ code: 'download-ended' });
    },
  );

  test('twenty entries, a preview that is sought through, and then the whole, are one download', async () => {
    const content = randomBytes(12_000_000);
    const sent = await send(content, inParts);
    const client = clientThrough(nodeTransport());
    const { downloadLeases } = config();
    const lease = newLease();
    const pieces = await client.openContent(sent.link, { lease, downloadLeases });
    const read = async (startBytes: number, endBytes: number) =>
      expect((await collect(pieces.read(startBytes, endBytes))).equals(content.subarray(startBytes, endBytes))).toBe(
        true,
      );
    for (let entry = 0; entry < 20; entry++) await read(entry * 200_000, entry * 200_000 + 190_000);
    // 300 places: a player asks from each of them to the end, and goes away.
    for (let seek = 0; seek < 300; seek++) {
      const reader = pieces.read(randomInt(3_000_000), content.length).getReader();
      await reader.read();
      await reader.cancel();
    }
    const whole = await client.download(sent.link, { lease, downloadLeases });
    expect((await collect(whole.payload)).equals(content)).toBe(true);
    expect(await client.getUsage(sent)).toMatchObject({ usedCount: 1 });
  });
});
