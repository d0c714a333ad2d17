import { randomBytes, randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { openLeasedPayload } from '../src/leased-payload.ts';
import type { Transport, TransportRequest } from '../src/transport.ts';
import { collect } from './bytes.ts';
import { FakeClock } from './fake-clock.ts';

const PAYLOAD = new Uint8Array(randomBytes(1_000_000));
const LINK = { baseUrl: 'http://service', id: 'id', authToken: 'token', sizeBytes: PAYLOAD.length };

/** A service whose answers end or break after so many bytes; a number is the status of a refusal. */
function serviceThat(answers: Iterator<{ bytes: number; breaks: boolean } | number, unknown>) {
  const requests: TransportRequest[] = [];
  const transport: Transport = {
    async send(request) {
      requests.push(request);
      const header = () => undefined;
      if (request.method === 'DELETE') return { status: 200, header, body: new Blob(['{}']).stream() };
      const { value } = answers.next();
      const first = Number(/^bytes=(\d+)-$/.exec(request.headers.Range ?? 'bytes=0-')?.[1]);
      if (typeof value === 'number') return { status: value, header, body: new Blob(['{}']).stream() };
      const { bytes, breaks } = (value ?? { bytes: PAYLOAD.length, breaks: false }) as {
        bytes: number;
        breaks: boolean;
      };
      let isSent = bytes === 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (!isSent) controller.enqueue(PAYLOAD.slice(first, first + bytes));
          else if (breaks) controller.error(new Error('reset'));
          else controller.close();
          isSent = true;
        },
      });
      return { status: first > 0 ? 206 : 200, header, body };
    },
  };
  return { transport, requests };
}

async function download(answers: ({ bytes: number; breaks: boolean } | number)[], signal?: AbortSignal) {
  const clock = new FakeClock();
  const { transport, requests } = serviceThat(answers.values());
  const open = openLeasedPayload({ transport, baseUrl: LINK.baseUrl, clock }, LINK, { signal });
  return { clock, requests, received: await open.then((stream) => collect(stream)) };
}

test('a payload whose connections break at any byte is whole, and one download', async () => {
  const answers = Array.from({ length: 50 }, (_, index) => ({
    bytes: randomInt(1, 10_000),
    breaks: index % 3 > 0, // else it looks complete
  }));
  const { received, requests } = await download(answers);
  expect(received.equals(PAYLOAD)).toBe(true);
  const leases = new Set(requests.map(({ headers }) => headers['X-Download-Lease']));
  expect(leases.size).toBe(1);
  expect([...leases][0]).toMatch(/^[\w-]{43}$/);
  expect(requests.map(({ method }) => method)).toEqual([...Array(51).fill('GET'), 'DELETE']);
  let from = 0;
  for (const [index, { bytes }] of answers.entries()) {
    from += bytes;
    expect(requests[index + 1]?.headers.Range).toBe(`bytes=${from}-`);
  }
});

test('a connection that brings nothing is waited with, longer and longer; one that brings something is not', async () => {
  const nothing = { bytes: 0, breaks: true };
  const { received, clock } = await download([{ bytes: 5, breaks: true }, nothing, 503, nothing]);
  expect(received.equals(PAYLOAD)).toBe(true);
  expect(clock.sleeps.map(({ ms }, index) => ms <= 1000 * 2 ** index && ms >= 500 * 2 ** index)).toEqual([
    true,
    true,
    true,
  ]);
});

test('what cannot be continued any more is a lost connection; what cannot begin says why', async () => {
  await expect(download([{ bytes: 5, breaks: true }, 410])).rejects.toMatchObject({ code: 'network' });
  await expect(download([410])).rejects.toMatchObject({ status: 410 });
  await expect(download([401])).rejects.toMatchObject({ code: 'wrong-token' });
});

test('whoever stops it is told so, and nothing more is asked for', async () => {
  const controller = new AbortController();
  const { transport, requests } = serviceThat([{ bytes: 5, breaks: true }].values());
  const stream = await openLeasedPayload({ transport, baseUrl: LINK.baseUrl, clock: new FakeClock() }, LINK, {
    signal: controller.signal,
  });
  controller.abort();
  await expect(collect(stream)).rejects.toMatchObject({ code: 'aborted' });
  expect(requests).toHaveLength(1);
});
