import { setTimeout as sleep } from 'node:timers/promises';
import { openSocket, requestHead } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { type Answer, type Api, call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';

const TOO_MANY = { error: 'Too many requests' };

/** Takes turns between the replicas, one request after the other. */
async function inTurns(service: ShapeUnderTest, count: number, send: (api: Api) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let index = 0; index < count; index++) {
    answers.push(await send(service.replicas[index % service.replicas.length] ?? service.api));
  }
  return answers;
}

const config = (api: Api, headers: Record<string, string> = {}) =>
  call('GET', `${api.baseUrl}/api/config`, { headers });

describeEachShape('rate limit', { RATE_LIMIT_MAX: '20', RATE_LIMIT_WINDOW_SEC: '3' }, (service) => {
  test('429 after the limit, over all replicas, and 200 again when the window has passed', async () => {
    const statuses = (await inTurns(service, 25, (api) => config(api))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.slice(20)).toEqual([429, 429, 429, 429, 429]);

    const refused = await config(service.api);
    expect([refused.status, refused.body]).toEqual([429, TOO_MANY]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(refused.headers['ratelimit-policy']).toBe('"requests";q=20;w=3');
    expect(refused.headers.ratelimit).toMatch(/^"requests";r=0;t=[1-3]$/);

    // Whatever is sent besides, forged headers, other endpoints: it is the same client.
    const forged = { 'X-Forwarded-For': '203.0.113.9', Forwarded: 'for=203.0.113.9', 'X-Real-IP': '203.0.113.9' };
    expect((await config(service.api, forged)).status).toBe(429);
    expect((await service.api.createNote(noteBody())).status).toBe(429);
    expect((await call('GET', `${service.api.baseUrl}/api/nothing`)).status).toBe(429);

    // The health check and the pages are not counted.
    expect((await call('GET', `${service.api.baseUrl}/api/health`)).status).toBe(200);
    expect((await call('GET', `${service.api.baseUrl}/api/docs/`)).status).toBe(200);

    // A sender is told, too, and its connection lives on.
    const big = await service.api.upload(
      Buffer.alloc(20_000_000),
      uploadHeaders({ authToken: token(), ownerToken: token() }),
    );
    expect([big.status, big.body]).toEqual([429, TOO_MANY]);

    await sleep(3_100);
    const answer = await config(service.api);
    expect([answer.status, answer.headers.ratelimit]).toEqual([200, '"requests";r=19;t=3']);
  });

  test('what is let through in any window of three seconds is never more than the limit', async () => {
    await sleep(3_100);
    const passed: number[] = [];
    const end = performance.now() + 7_000;
    while (performance.now() < end) {
      const sent = performance.now();
      const answers = await inTurns(service, 2, (api) => config(api));
      passed.push(...answers.filter(({ status }) => status === 200).map(() => sent));
      await sleep(40);
    }
    const windows = passed.map((start) => passed.filter((time) => time >= start && time < start + 2_900).length);
    expect(passed.length).toBeGreaterThan(20); // more than one window was used
    expect(Math.max(...windows)).toBeLessThanOrEqual(20);
  });
});

describeEachShape('quota', { UPLOAD_QUOTA_BYTES: '100000', MAX_FILE_SIZE: '150000' }, (service) => {
  const send = (api: Api, size: number, changes = {}) =>
    api.upload(Buffer.alloc(size), uploadHeaders({ authToken: token(), ownerToken: token() }, changes));

  test('bytes count only when they were stored, over all replicas, notes as well', async () => {
    // None of these is charged: refused, too large, broken off.
    for (let round = 0; round < 3; round++) {
      expect((await send(service.api, 90_000, { 'X-Salt': 'short' })).status).toBe(400);
      expect((await send(service.api, 200_000)).status).toBe(413);
      await breakOff(service.api.baseUrl, 90_000);
    }
    expect((await inTurns(service, 2, (api) => send(api, 40_000))).map(({ status }) => status)).toEqual([200, 200]);

    const refused = await send(service.api, 40_000);
    expect([refused.status, refused.body]).toEqual([429, { error: 'Upload quota exceeded' }]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(86_400);

    expect((await service.api.createNote(noteBody({ encryptedContent: 'AAAA'.repeat(8_000) }))).status).toBe(429);
    expect((await service.api.createNote(noteBody())).status).toBe(201);
    expect((await config(service.api)).status).toBe(200); // reading goes on
  });
});

describeEachShape('quota, at once', { UPLOAD_QUOTA_BYTES: '100000' }, (service) => {
  test('parallel uploads do not overshoot', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const headers = uploadHeaders({ authToken: token(), ownerToken: token() });
        return (service.replicas[i % service.replicas.length] ?? service.api).upload(Buffer.alloc(30_000), headers);
      }),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(17);
  });
});

/** Begins an upload and leaves in the middle of it. */
async function breakOff(baseUrl: string, size: number) {
  const tokens = { authToken: token(), ownerToken: token() };
  const socket = await openSocket(baseUrl);
  socket.write(requestHead('POST /api/upload', { 'Content-Length': String(size), ...uploadHeaders(tokens) }));
  socket.write(Buffer.alloc(1_000));
  await sleep(100);
  socket.destroy();
  await sleep(200); // until the gateway has noticed and given the bytes back
}

describeEachShape('guessing', { TOKEN_FAILURES_MAX: '3' }, (service) => {
  test('after so many wrong tokens the item is locked for this client, on every endpoint and replica', async () => {
    const item = await service.api.newUpload();
    const other = await service.api.newUpload();
    const note = await service.api.newNote();
    const wrong = await inTurns(service, 5, (api) => api.download(item.id, token()));
    expect(wrong.map(({ status }) => status)).toEqual([401, 401, 401, 429, 429]);
    const locked = await service.api.download(item.id.toUpperCase(), item.authToken);
    expect([locked.status, locked.body]).toEqual([429, TOO_MANY]);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(1);
    expect((await service.api.deleteUpload(item.id, token())).status).toBe(429);

    expect((await service.api.info(item.id)).body.downloadCount).toBe(0);
    expect((await service.api.download(other.id, other.authToken)).status).toBe(200);
    expect((await service.api.view(note.id, note.authToken)).status).toBe(200);
  });

  test('the right token in between is no wrong one', async () => {
    const note = await service.api.newNote({ maxViews: 10 });
    for (let round = 0; round < 5; round++) expect((await service.api.view(note.id, note.authToken)).status).toBe(200);
    expect((await service.api.view(note.id, token())).status).toBe(401);
    expect((await service.api.view(note.id, note.authToken)).status).toBe(200);
  });
});

describe.each([
  ['1', '198.51.100.1, 203.0.113.5', 'the last address is believed'],
  ['127.0.0.0/8', '198.51.100.1, 203.0.113.5', 'the last address is believed'],
])('with TRUST_PROXY=%s', (proxies) => {
  describeEachShape('clients behind a proxy', { RATE_LIMIT_MAX: '3', TRUST_PROXY: proxies }, (service) => {
    const from = (address: string) => config(service.api, { 'X-Forwarded-For': address });

    test('are told apart by what the proxy says, and by no more than that', async () => {
      for (let round = 0; round < 3; round++) expect((await from('203.0.113.5')).status).toBe(200);
      expect((await from('203.0.113.5')).status).toBe(429);
      expect((await from('198.51.100.1, 203.0.113.5')).status).toBe(429); // the first is the client's own claim
      expect((await from('::ffff:203.0.113.5')).status).toBe(429);
      expect((await from('203.0.113.6')).status).toBe(200);
    });

    test('share one limit within an IPv6 /64', async () => {
      for (const host of ['1', '2', '3']) expect((await from(`2001:db8:0:1::${host}`)).status).toBe(200);
      expect((await from('2001:db8:0:1:ffff::')).status).toBe(429);
      expect((await from('2001:db8:0:2::1')).status).toBe(200);
    });
  });
});
