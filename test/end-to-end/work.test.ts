import { randomBytes } from 'node:crypto';
import { inSuite } from '@mayfly/testing/in-suite';
import { replaceableRedis } from '@mayfly/testing/replaceable-redis';
import { type RunningShape, SHAPES, startShape } from '@mayfly/testing/shapes';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { scrape } from '../observability/scrape.ts';
import { type Answer, Api, call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';
import { type Offer, solve } from '../support/work.ts';

const MAX = 3;
const EXTRA = 7;
const SETTINGS = {
  WORK: 'adaptive',
  WORK_EXTRA: String(EXTRA),
  RATE_LIMIT_MAX: String(MAX),
  RATE_LIMIT_WINDOW_SEC: '600',
  TRUST_PROXY: '1',
};
const TOO_MANY = { error: 'Too many requests' };

/** Requests of one client, who is known by its address. */
function clientAt(address: string, baseUrls: () => string[]) {
  const from = { 'X-Forwarded-For': address };
  const gateway = (index: number) => baseUrls()[index % baseUrls().length] ?? '';
  const look = (header?: string, index = 0) =>
    call('GET', `${gateway(index)}/api/config`, { headers: { ...from, ...(header ? { 'X-Work': header } : {}) } });
  const atOnce = (count: number, header?: string) =>
    Promise.all(Array.from({ length: count }, (_, index) => look(header, index)));
  const ask = (index = 0) => call('GET', `${gateway(index)}/api/work`, { headers: from });
  return {
    from,
    look,
    atOnce,
    ask,
    offer: async (index = 0) => (await ask(index)).body as Offer,
    /** All that the limit allows. */
    async useUp() {
      expect(count(await atOnce(MAX), 200)).toBe(MAX);
      expect((await look()).status).toBe(429);
    },
  };
}

const count = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length;

/** Requests that had worked for their place, as the metrics of all gateways say. */
const worked = async (running: RunningShape) =>
  (await scrape(running))
    .filter(({ name, labels }) => name === 'mayfly_limits_decisions_total' && labels.mayfly_decision === 'worked')
    .reduce((sum, { value }) => sum + value, 0);

let clients = 0;
function newClient(service: Pick<ShapeUnderTest, 'running'>) {
  clients += 1;
  return clientAt(`198.51.100.${clients}`, () => service.running.baseUrls);
}

describeEachShape(
  'work for requests',
  { ...SETTINGS, TOKEN_FAILURES_MAX: '2', UPLOAD_QUOTA_BYTES: '100000', MAX_FILE_SIZE: '150000' },
  (service) => {
    describe('GET /api/work', () => {
      test('200: a challenge, also for a client over its limit, and not counted', async () => {
        const client = newClient(service);
        await client.useUp();
        const { status, body, headers } = await client.ask();
        expect([status, body]).toEqual([
          200,
          {
            challenge: expect.stringMatching(/^\d+\.8192\.1\.32\.[\w-]{22}\.[\w-]{43}$/),
            memoryKiB: 8192,
            passes: 1,
            tries: 32,
            requests: EXTRA,
            endsAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
          },
        ]);
        const leftMs = new Date(String(body.endsAt)).getTime() - Date.now();
        expect(leftMs).toBeGreaterThan(290_000);
        expect(leftMs).toBeLessThanOrEqual(300_000);
        expect(headers.ratelimit).toBeUndefined();
        const fresh = newClient(service);
        await fresh.ask();
        expect((await fresh.look()).headers.ratelimit).toMatch(/r=2;/);
      });

      test('429 after thirty in a minute, over all replicas; others are told nothing of it', async () => {
        const client = newClient(service);
        const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => client.ask(index)));
        expect([count(answers, 200), count(answers, 429)]).toEqual([30, 30]);
        const refused = await client.ask();
        expect([refused.status, refused.body]).toEqual([429, TOO_MANY]);
        expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
        expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
        expect((await newClient(service).ask()).status).toBe(200);
      });
    });

    test('config says what a solution is worth', async () => {
      expect((await newClient(service).look()).body.work).toEqual({ requests: EXTRA });
    });

    test('a solution is worth exactly as many requests as promised: of 200 at once over all replicas', async () => {
      const client = newClient(service);
      await client.useUp();
      const solution = solve(await client.offer());
      const workedBefore = await worked(service.running);
      const answers = await client.atOnce(200, solution);
      expect([count(answers, 200), count(answers, 429)]).toEqual([EXTRA, 200 - EXTRA]);
      expect((await worked(service.running)) - workedBefore).toBe(EXTRA);
      const refused = await client.look(solution, 1);
      expect([refused.status, refused.body]).toEqual([429, TOO_MANY]);
      expect(refused.headers.ratelimit).toMatch(/r=0;/);
      expect((await client.look()).status).toBe(429);
    });

    test('a request that has a place without it uses nothing of a solution', async () => {
      const client = newClient(service);
      const solution = solve(await client.offer());
      expect(count(await client.atOnce(MAX, solution), 200)).toBe(MAX);
      expect(count(await client.atOnce(20, solution), 200)).toBe(EXTRA);
    });

    test('each solution costs its own work: the price doubles with every four, and no cheap challenges can be collected', async () => {
      const client = newClient(service);
      await client.useUp();
      const offers = await Promise.all(Array.from({ length: 10 }, (_, index) => client.offer(index)));
      expect(offers.map(({ tries }) => tries)).toEqual(Array(10).fill(32));
      const worth = [];
      for (const offer of offers) worth.push((await client.look(solve(offer))).status);
      // Eight at this price: those of the first step, and of the one that had begun meanwhile.
      expect(worth).toEqual([...Array(8).fill(200), 429, 429]);
      expect((await client.offer(1)).tries).toBe(128);
    });

    test.each([
      ['of another client', async (offer: Offer) => solve(offer), true],
      ['that was found for an easier challenge', async (offer: Offer) => solve(easier(offer)), false],
      ['that is signed by nobody', async (offer: Offer) => solve(forged(offer)), false],
      ['for a challenge that ends later', async (offer: Offer) => solve(later(offer)), false],
      ['that solves nothing', async (offer: Offer) => solve(offer, { isRight: false }), false],
      ['without a number', async ({ challenge }: Offer) => `${challenge}.`, false],
      ['that is the challenge', async ({ challenge }: Offer) => challenge, false],
      ['with more behind it', async (offer: Offer) => `${solve(offer)} `.replace(/ $/, '.1'), false],
      ['that is text', async () => 'please', false],
      ['that is long', async () => '1'.repeat(8_000), false],
    ])('a solution %s changes nothing', async (_, make, isOfOther) => {
      const client = newClient(service);
      await client.useUp();
      const offer = await (isOfOther ? newClient(service) : client).offer();
      const refused = await client.look(await make(offer));
      expect([refused.status, refused.body]).toEqual([429, TOO_MANY]);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      // It can be told from one that is worth something.
      expect((await client.look(solve(await client.offer()))).status).toBe(200);
    });

    test('a wrong solution has used up its challenge where it was seen', async () => {
      const client = newClient(service);
      await client.useUp();
      const offer = await client.offer();
      expect((await client.look(solve(offer, { isRight: false }))).status).toBe(429);
      expect((await client.look(solve(offer))).status).toBe(429);
    });

    test('bytes, wrong tokens and bodies keep their limits: only requests can be worked for', async () => {
      const client = newClient(service);
      const note = await service.api.newNote();
      const view = (authToken: string, header = '') =>
        call('POST', `${service.api.baseUrl}/api/note/${note.id}/view`, {
          json: { authToken },
          headers: { ...client.from, 'X-Work': header },
        });
      const upload = (size: number, header: string) =>
        call('POST', `${service.api.baseUrl}/api/upload`, {
          body: randomBytes(size),
          headers: { ...uploadHeaders({ authToken: token(), ownerToken: token() }), ...client.from, 'X-Work': header },
        });
      for (let index = 0; index < 2; index += 1) expect((await view(token())).status).toBe(401);
      await client.look();
      expect((await client.look()).status).toBe(429);
      const solution = solve(await client.offer());
      const locked = await view(note.authToken, solution);
      expect([locked.status, locked.body]).toEqual([429, TOO_MANY]);
      expect((await upload(60_000, solution)).status).toBe(200);
      const full = await upload(60_000, solution);
      expect([full.status, full.body]).toEqual([429, { error: 'Upload quota exceeded' }]);
      expect((await upload(200_000, solution)).status).toBe(413);
      const created = await call('POST', `${service.api.baseUrl}/api/note`, {
        json: noteBody(),
        headers: { ...client.from, 'X-Work': solution },
      });
      expect(created.status).toBe(201);
    });

    test('neither challenges nor solutions are in a log', async () => {
      const client = newClient(service);
      await client.useUp();
      const solution = solve(await client.offer());
      expect((await client.look(solution)).status).toBe(200);
      const logs = service.running.processes.map(({ output }) => output()).join('\n');
      expect(logs).toContain('"route":"/api/work"');
      expect(logs).not.toContain(solution.split('.')[4]);
    });
  },
);

const changed = ({ challenge, ...rest }: Offer, place: number, text: string): Offer => ({
  ...rest,
  challenge: challenge
    .split('.')
    .map((part, index) => (index === place ? text : part))
    .join('.'),
});
const easier = (offer: Offer) => ({ ...changed(offer, 3, '1'), tries: 1 });
const forged = (offer: Offer) => changed(offer, 5, token());
const later = (offer: Offer) => changed(offer, 0, String(Number(offer.challenge.split('.')[0]) + 1));

describeEachShape('work for one request', { ...SETTINGS, WORK_EXTRA: '1' }, (service) => {
  test('of the same solution twenty times at once, over all replicas, one has its place', async () => {
    for (let round = 0; round < 3; round += 1) {
      const client = newClient(service);
      await client.useUp();
      const answers = await client.atOnce(20, solve(await client.offer()));
      expect([count(answers, 200), count(answers, 429)]).toEqual([1, 19]);
    }
  });
});

describeEachShape('no work', { RATE_LIMIT_MAX: '3', RATE_LIMIT_WINDOW_SEC: '5', TRUST_PROXY: '1' }, (service) => {
  test('there is no such path, config does not name it, and what is sent changes nothing', async () => {
    const unknown = await call('GET', `${service.api.baseUrl}/api/nothing`);
    const work = await call('GET', `${service.api.baseUrl}/api/work`);
    expect([work.status, work.text]).toEqual([404, unknown.text]);
    const { 'x-request-id': _one, date: _its, ...headers } = unknown.headers;
    expect(work.headers).toMatchObject({ ...headers, ratelimit: expect.stringMatching(/r=1;/) });
    expect((await call('POST', `${service.api.baseUrl}/api/work`)).status).toBe(404);
    const client = new Api(service.api.baseUrl);
    const refused = await call('GET', `${client.baseUrl}/api/work`, { headers: { 'X-Work': 'anything' } });
    expect([refused.status, refused.body]).toEqual([429, TOO_MANY]);
  });

  test('config', async () => {
    const answer = await call('GET', `${service.api.baseUrl}/api/config`, {
      headers: { 'X-Forwarded-For': '203.0.113.7' },
    });
    expect(answer.text).not.toContain('work');
  });
});

describe.each(SHAPES)('work without Redis (%s)', (shape) => {
  const redis = inSuite(() => replaceableRedis());
  const running = inSuite(() => startShape(shape, { ...SETTINGS, REDIS_URL: redis().url, REDIS_TIMEOUT_MS: '500' }));

  test('each process sells and counts by itself, and all together again when it is back', async () => {
    await redis().kill();
    for (const baseUrl of running().baseUrls) {
      clients += 1;
      const client = clientAt(`198.51.100.${clients}`, () => [baseUrl]);
      await client.useUp();
      const answers = await client.atOnce(30, solve(await client.offer()));
      expect([count(answers, 200), count(answers, 429)]).toEqual([EXTRA, 30 - EXTRA]);
    }
    await redis().start();
    const isShared = async () => {
      const client = newClient({ running: running() });
      if (count(await client.atOnce(2 * MAX), 200) !== MAX) return false;
      return count(await client.atOnce(30, solve(await client.offer())), 200) === EXTRA;
    };
    await untilTrue(isShared, 15_000);
  });
});
