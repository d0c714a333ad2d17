import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '@mayfly/shared/errors';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { PayloadStream, readBytes } from '../src/disk/payload-stream.ts';

const MIB = 1024 * 1024;

test('reads are 1 MiB while little is held, and never below 32 KiB', () => {
  expect([0, 8, 16].map((held) => readBytes(held * MIB))).toEqual([MIB, MIB, MIB]);
  expect(readBytes(31 * MIB)).toBeLessThan(100 * 1024);
  expect(readBytes(1_000 * MIB)).toBe(32 * 1024);
});

test('every byte arrives once and in order, however many payloads are open', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'payload');
  const bytes = randomBytes(3 * MIB + 12_345);
  await writeFile(path, bytes);
  const read = async () => buffer(new PayloadStream(await open(path), bytes.length));
  const all = await Promise.all(Array.from({ length: 40 }, read));
  expect(all.every((received) => received.equals(bytes))).toBe(true);
});

test('clients that stall hold a share each, and give it back when they leave', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'payload');
  await writeFile(path, Buffer.alloc(4 * MIB));
  const stalled = await Promise.all(
    Array.from({ length: 64 }, async () => new PayloadStream(await open(path), 4 * MIB)),
  );
  for (const stream of stalled) stream.read(0); // begins to read, takes nothing
  await Promise.all(stalled.map((stream) => once(stream, 'readable')));
  await sleep(50); // time to read ahead further, which must not happen
  const heldBytes = stalled.reduce((sum, stream) => sum + stream.readableLength, 0);
  expect(heldBytes).toBeLessThanOrEqual(32 * MIB);

  await Promise.all(stalled.map((stream) => once(stream.destroy(), 'close')));
  const alone = new PayloadStream(await open(path), 4 * MIB);
  const [first] = (await once(alone, 'data')) as [Buffer];
  expect(first.length).toBe(MIB);
  await once(alone.destroy(), 'close');
});

test('a file that cannot be read is not available', async () => {
  await using folder = await freshFolder();
  const stream = new PayloadStream(await open(folder.path), 1); // a folder opens, and cannot be read
  const error = await buffer(stream).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Unavailable);
  expect(error).toMatchObject({ cause: { code: 'EISDIR' } });
});

test('a file that is shorter than it should be is an error, never a short payload', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'payload');
  await writeFile(path, Buffer.alloc(100));
  await expect(buffer(new PayloadStream(await open(path), 101))).rejects.toThrow('ends before its size');
});

describe('sent through a pipe', () => {
  /** Takes a chunk after a while, and reads it only then: it must not have been used again before. */
  const slowWritable = (received: Buffer[]) =>
    new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, done) {
        setTimeout(() => {
          received.push(Buffer.from(chunk));
          done();
        }, 2);
      },
    });

  test.each([0, 1, MIB, 2 * MIB + 1, 7 * MIB + 12_345])('%i bytes arrive once and in order', async (size) => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'payload');
    const bytes = randomBytes(size);
    await writeFile(path, bytes);
    const received: Buffer[] = [];
    const payload = new PayloadStream(await open(path), size);
    const closed = once(payload, 'close');
    await once(payload.pipe(slowWritable(received)), 'finish');
    expect(Buffer.concat(received).equals(bytes)).toBe(true);
    await closed;
  });

  test('many at once share buffers, and each gets its own bytes', async () => {
    await using folder = await freshFolder();
    const sizes = Array.from({ length: 40 }, (_, index) => index * 70_001 + 1);
    const sent = sizes.map((size) => randomBytes(size));
    const received = await Promise.all(
      sent.map(async (bytes, index) => {
        const path = join(folder.path, `payload-${index}`);
        await writeFile(path, bytes);
        const chunks: Buffer[] = [];
        await once(new PayloadStream(await open(path), bytes.length).pipe(slowWritable(chunks)), 'finish');
        return Buffer.concat(chunks);
      }),
    );
    expect(received.every((bytes, index) => sent[index]?.equals(bytes))).toBe(true);
  });

  test('what was read ahead for a client that stalls is dropped, and read again when it goes on', async () => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'payload');
    const bytes = randomBytes(5 * MIB + 7);
    await writeFile(path, bytes);
    const received: Buffer[] = [];
    let goOn: (() => void) | undefined;
    const stalling = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, done) {
        received.push(Buffer.from(chunk));
        if (received.length === 2) goOn = done;
        else done();
      },
    });
    const payload = new PayloadStream(await open(path), bytes.length);
    const finished = once(payload.pipe(stalling), 'finish');
    await sleep(1_500);
    expect(payload.heldBytes).toBe(MIB); // what the client is taking, and nothing ahead of it
    goOn?.();
    await finished;
    expect(Buffer.concat(received).equals(bytes)).toBe(true);
  });

  test('a destination that leaves ends the payload without an error', async () => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'payload');
    await writeFile(path, Buffer.alloc(8 * MIB));
    const payload = new PayloadStream(await open(path), 8 * MIB);
    const errors: unknown[] = [];
    payload.on('error', (error) => errors.push(error));
    const received: Buffer[] = [];
    const destination = slowWritable(received);
    const closed = once(payload, 'close');
    payload.pipe(destination);
    while (received.length === 0) await sleep(1);
    destination.destroy();
    await closed;
    expect(errors).toEqual([]);
  });

  test('a file that ends too early is an error, and the destination is not ended', async () => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'payload');
    await writeFile(path, Buffer.alloc(3 * MIB));
    const payload = new PayloadStream(await open(path), 4 * MIB);
    const destination = slowWritable([]);
    payload.pipe(destination);
    const [error] = await once(payload, 'error');
    expect(String(error)).toContain('ends before its size');
    expect(destination.writableEnded).toBe(false);
  });
});
