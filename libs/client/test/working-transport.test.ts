import { argon2Sync, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Transport, TransportAnswer, TransportRequest } from '../src/transport.ts';
import { whenBusy } from '../src/working-transport.ts';

const CHALLENGE = { memoryKiB: 1024, passes: 1, tries: 2, requests: 3, endsAt: '2126-01-02T03:04:05.678Z' };
type Refusal = { retryAfter?: string; ratelimit?: string };

function answer(status: number, body: object = {}, headers: Record<string, string> = {}): TransportAnswer {
  return { status, header: (name) => headers[name], body: new Blob([JSON.stringify(body)]).stream() };
}

const refusal = ({ retryAfter = '60', ratelimit = '"requests";r=0;t=60' }: Refusal = {}) =>
  answer(429, { error: 'Too many requests' }, { 'retry-after': retryAfter, ratelimit });

/** Whether a header solves its challenge, by another implementation than the client's. */
function isSolution(header: string): boolean {
  const parameters = { nonce: Buffer.from('mayfly:work:1'), memory: 1024, passes: 1, parallelism: 1, tagLength: 4 };
  return argon2Sync('argon2id', { ...parameters, message: Buffer.from(header) }).readUInt32BE() < 2 ** 31;
}

/** A service that is busy, and sells so many requests for each solution. */
function busyService(changes: { offer?: () => TransportAnswer; refuse?: () => TransportAnswer; free?: number } = {}) {
  const seen = { asked: 0, refused: 0, let: [] as TransportRequest[], waits: [] as number[], told: [] as boolean[] };
  const baseUrl = `https://${randomBytes(6).toString('hex')}.example`;
  const sold = new Map<string, number>();
  let free = changes.free ?? 0;
  const offer = () => answer(200, { ...CHALLENGE, challenge: `1.1024.1.2.${randomBytes(16).toString('base64url')}` });
  const service: Transport = {
    async send(request) {
      if (request.url.endsWith('/api/work')) {
        seen.asked += 1;
        return (changes.offer ?? offer)();
      }
      const { 'X-Work': header } = request.headers;
      const used = sold.get(header ?? '') ?? 0;
      const isPaid = header !== undefined && isSolution(header) && used < CHALLENGE.requests;
      if (isPaid) sold.set(header, used + 1);
      if (isPaid || free > 0) {
        if (!isPaid) free -= 1;
        seen.let.push(request);
        return answer(200, {}, { ratelimit: `"requests";r=${free};t=60` });
      }
      seen.refused += 1;
      return (changes.refuse ?? refusal)();
    },
  };
  const clock = {
    now: () => performance.now(),
    sleep: async (ms: number) => {
      seen.waits.push(ms);
      free += 1;
    },
  };
  const transport = whenBusy(service, { clock, onWork: (isWorking) => seen.told.push(isWorking) });
  const ask = (more: Partial<TransportRequest> = {}) =>
    transport.send({ method: 'POST', url: `${baseUrl}/api/note`, headers: { 'X-Other': 'a' }, body: '{}', ...more });
  return { seen, ask };
}

test('what is refused is worked for and sent again, as it was', async () => {
  const { seen, ask } = busyService();
  expect((await ask()).status).toBe(200);
  const [sent] = seen.let;
  expect(sent).toMatchObject({ method: 'POST', body: '{}', headers: { 'X-Other': 'a' } });
  expect(isSolution(sent?.headers['X-Work'] ?? '')).toBe(true);
  expect(seen).toMatchObject({ asked: 1, refused: 1, waits: [], told: [true, false] });
});

test('a solution is used until it is used up, and then there is another one', async () => {
  const { seen, ask } = busyService();
  for (let i = 0; i < 7; i += 1) expect((await ask()).status).toBe(200);
  expect(seen).toMatchObject({ asked: 3, refused: 3 });
});

test('all that are refused at once work for one place', async () => {
  const { seen, ask } = busyService();
  const answers = await Promise.all([ask(), ask(), ask()]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(seen.asked).toBe(1);
});

test('where there is no work the refusal is what it was, and nobody asks again', async () => {
  const { seen, ask } = busyService({ offer: () => answer(404, { error: 'Not Found' }) });
  for (let i = 0; i < 3; i += 1) {
    const refused = await ask();
    expect([refused.status, refused.header('retry-after')]).toEqual([429, '60']);
    expect(await new Response(refused.body).json()).toEqual({ error: 'Too many requests' });
  }
  expect(seen).toMatchObject({ asked: 1, refused: 3, waits: [] });
});

test('work that would take longer than to wait is not done', async () => {
  const refuse = () => refusal({ retryAfter: '2', ratelimit: '"requests";r=0;t=2' });
  const offer = () => answer(200, { ...CHALLENGE, challenge: '1.a', memoryKiB: 8192, tries: 1_000_000 });
  const { seen, ask } = busyService({ offer, refuse });
  expect((await ask()).status).toBe(200);
  expect(seen.let[0]?.headers).toEqual({ 'X-Other': 'a' });
  expect(seen.waits).toHaveLength(1);
  expect(seen.waits[0]).toBeLessThan(2_000);
  expect(seen.waits[0]).toBeGreaterThan(0);
});

test('who would have to wait for an hour works, and is told when that is in vain', async () => {
  const refuse = () => refusal({ retryAfter: '3600', ratelimit: '"requests";r=0;t=3600' });
  expect((await busyService({ refuse }).ask()).status).toBe(200);
  const offer = () => answer(200, { ...CHALLENGE, challenge: '1.a', memoryKiB: 8192, tries: 1_000_000 });
  const { seen, ask } = busyService({ refuse, offer });
  expect((await ask()).status).toBe(429);
  expect(seen).toMatchObject({ asked: 1, waits: [] });
});

test('when nothing is sold for the moment it waits as well', async () => {
  const refuse = () => refusal({ retryAfter: '20', ratelimit: '"requests";r=0;t=20' });
  const { seen, ask } = busyService({ offer: refusal, refuse });
  expect((await ask()).status).toBe(200);
  expect(seen).toMatchObject({ asked: 1, told: [true, false] });
  expect(Math.round((seen.waits[0] ?? 0) / 1000)).toBe(20);
});

test.each([
  ['wrong tokens', { retryAfter: '900', ratelimit: '"requests";r=0;t=60' }],
  ['requests that are left', { retryAfter: '60', ratelimit: '"requests";r=3;t=60' }],
  ['limits of another service', { ratelimit: 'limit=100, remaining=0, reset=60' }],
])('a refusal for %s is returned as it is', async (_, kind) => {
  const { seen, ask } = busyService({ refuse: () => refusal(kind) });
  expect((await ask()).status).toBe(429);
  expect(seen).toMatchObject({ asked: 0, refused: 1, told: [] });
});

test.each([
  ['memory', { memoryKiB: 4_194_304 }],
  ['passes', { passes: 1_000 }],
  ['tries', { tries: 2_000_000_000 }],
  ['a header of its own', { challenge: 'a\r\nX-Owner-Token: b' }],
  ['a header without an end', { challenge: 'a'.repeat(10_000) }],
  ['nothing', { challenge: undefined }],
])('a service that wants %s is not worked for', async (_, changes) => {
  const { seen, ask } = busyService({ offer: () => answer(200, { ...CHALLENGE, challenge: '1.a', ...changes }) });
  expect((await ask()).status).toBe(429);
  expect(seen).toMatchObject({ asked: 1, refused: 1, let: [] });
});

test('a service that refuses whatever is done is believed after six times', async () => {
  const refuse = () => refusal({ retryAfter: '1', ratelimit: '"requests";r=0;t=1' });
  const { seen, ask } = busyService({ refuse, free: Number.NEGATIVE_INFINITY, offer: refusal });
  expect((await ask()).status).toBe(429);
  expect(seen.refused).toBe(6);
});

test('whoever stops does not wait for the work', async () => {
  const offer = () => answer(200, { ...CHALLENGE, challenge: '1.a', memoryKiB: 8192, tries: 500 });
  const refuse = () => refusal({ retryAfter: '100', ratelimit: '"requests";r=0;t=100' });
  const { seen, ask } = busyService({ offer, refuse });
  const { signal, abort } = abortable();
  const asking = ask({ signal });
  setTimeout(abort, 100);
  const begun = performance.now();
  await expect(asking).rejects.toMatchObject({ code: 'aborted' });
  expect(performance.now() - begun).toBeLessThan(1_500);
  expect(seen.told).toEqual([true, false]);
  await expect(ask({ signal })).rejects.toMatchObject({ code: 'aborted' });
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

test('a body that is read as it is sent is not sent twice: its place is worked for before, when it is known that none is left', async () => {
  const body = () => ({ stream: new Blob(['payload']).stream(), sizeBytes: 7 });
  const unprepared = busyService();
  expect((await unprepared.ask({ body: body() })).status).toBe(429);
  expect(unprepared.seen.asked).toBe(0);
  const { seen, ask } = busyService({ free: 1 });
  expect((await ask()).status).toBe(200);
  expect((await ask({ body: body() })).status).toBe(200);
  expect(seen).toMatchObject({ asked: 1, refused: 0 });
});

test('what is no request to the API is left alone', async () => {
  const { seen, ask } = busyService();
  expect((await ask({ url: 'https://other.example/release.json' })).status).toBe(429);
  expect(seen.asked).toBe(0);
});
