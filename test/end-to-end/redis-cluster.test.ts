import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inSuite } from '@mayfly/testing/in-suite';
import { startShape } from '@mayfly/testing/shapes';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { Api, call, token, uploadHeaders } from '../support/api.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { redisOfSuite } from '../support/shared-limits.ts';
import { type Offer, solve } from '../support/work.ts';

const LAST_SWEEP = '{mayfly}:janitor:last-sweep';
const RATE_LIMIT_MAX = 50;
/** What operators are told to give the service's user. */
const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const rights = /^ACL SETUSER mayfly on >PASSWORD (.+)$/m.exec(operations)?.[1]?.split(' ') ?? [];
const [, ofCluster = ''] = /on each node of a cluster also `([^`]+)`/.exec(operations) ?? [];
const CLUSTER_RIGHTS = ofCluster.split(' ');

describe('a Redis Cluster', () => {
  const cluster = inSuite(() => {
    expect(rights.length).toBeGreaterThan(5);
    return startRedisCluster([...rights, ...CLUSTER_RIGHTS]);
  });
  const first = () => cluster().primaries[0] as ReturnType<typeof cluster>['primaries'][number];
  const limits = { RATE_LIMIT_MAX: String(RATE_LIMIT_MAX), TOKEN_FAILURES_MAX: '5', UPLOAD_QUOTA_BYTES: '100000' };
  const settings = { ...limits, WORK: 'adaptive', WORK_EXTRA: '9', TRUST_PROXY: '1' };
  const running = inSuite(() => startShape('split', { ...settings, REDIS_URL: cluster().url }));
  const redis = redisOfSuite(() => cluster().url);

  /** Requests at once, over all gateways in turns, as somebody else each time. */
  let clients = 0;
  const newClient = () => {
    clients += 1;
    return `10.0.${clients >> 8}.${clients & 0xff}`;
  };
  const from = (client: string) => ({ 'x-forwarded-for': client });
  const gateway = (index: number) => running().baseUrls[index % running().baseUrls.length] ?? '';
  async function atOnce<T>(count: number, ask: (baseUrl: string) => Promise<T>): Promise<T[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => ask(gateway(index))));
  }
  const statuses = (answers: { status: number }[], status: number) =>
    answers.filter((answer) => answer.status === status).length;
  const look = (client: string) => (baseUrl: string) => call('GET', `${baseUrl}/api/config`, { headers: from(client) });
  const isShared = async () => {
    const client = newClient();
    return statuses(await atOnce(2 * RATE_LIMIT_MAX, look(client)), 200) === RATE_LIMIT_MAX;
  };
  const lastSweep = () => redis().get(LAST_SWEEP);
  const sweepsGoOn = async () => {
    const before = Number(await lastSweep());
    await untilTrue(async () => Number(await lastSweep().catch(() => 0)) > before, 30_000);
  };
  const isWell = async () => {
    const answers = await atOnce(2, (baseUrl) => call('GET', `${baseUrl}/api/health`));
    return answers.every(({ status }) => status === 200);
  };

  test('health is well, sweeps are scheduled, and what is counted lies on every primary', async () => {
    await untilTrue(isWell, 15_000);
    await sweepsGoOn();
    await Promise.all(Array.from({ length: 60 }, () => look(newClient())(gateway(0))));
    const names = await Promise.all(cluster().primaries.map((node) => cluster().keysOf(node, 'mayfly:rate:*')));
    for (const found of names) expect(found).not.toEqual([]);
    const jobs = await Promise.all(
      cluster().primaries.map((node) => cluster().keysOf(node, '{mayfly}:janitor:repeat*')),
    );
    expect(jobs.flat()).not.toEqual([]); // by the schedule, not by the janitor's own clock
    for (const node of cluster().primaries) {
      const log = (await node.call('ACL', 'LOG')) as unknown[][];
      expect(log.map((entry) => entry[entry.indexOf('object') + 1])).toEqual([]);
    }
  });

  test('each client gets exactly as many requests as the limit says, over all gateways', async () => {
    for (let round = 0; round < 5; round++) {
      const client = newClient();
      const answers = await atOnce(2 * RATE_LIMIT_MAX, look(client));
      expect(statuses(answers, 200)).toBe(RATE_LIMIT_MAX);
      expect(statuses(answers, 429)).toBe(RATE_LIMIT_MAX);
    }
  });

  test('a solution is worth exactly as many requests as promised, over all gateways, wherever its client is kept', async () => {
    for (let round = 0; round < 5; round++) {
      const client = newClient();
      await atOnce(RATE_LIMIT_MAX, look(client));
      const offered = await call('GET', `${gateway(round)}/api/work`, { headers: from(client) });
      const headers = { ...from(client), 'x-work': solve(offered.body as Offer) };
      const answers = await atOnce(40, (baseUrl) => call('GET', `${baseUrl}/api/config`, { headers }));
      expect([statuses(answers, 200), statuses(answers, 429)]).toEqual([9, 31]);
    }
  });

  test('of wrong tokens sent together exactly so many are tried, and the right one is locked out; a right one alone is not', async () => {
    const maker = new Api(gateway(0));
    const note = await maker.newNote();
    const client = newClient();
    const view = (authToken: string, by: string) => (baseUrl: string) =>
      call('POST', `${baseUrl}/api/note/${note.id}/view`, { json: { authToken }, headers: from(by) });
    const answers = await atOnce(30, view(token(), client));
    expect([statuses(answers, 401), statuses(answers, 429)]).toEqual([5, 25]);
    expect((await view(note.authToken, client)(gateway(1))).status).toBe(429);
    expect((await view(note.authToken, newClient())(gateway(1))).status).toBe(200);
  });

  test('of uploads sent together as many are stored as the quota has bytes for, and one that fails gives its back', async () => {
    const client = newClient();
    const tokens = () => ({ ...uploadHeaders({ authToken: token(), ownerToken: token() }), ...from(client) });
    const upload = (baseUrl: string) =>
      call('POST', `${baseUrl}/api/upload`, { body: randomBytes(10_000), headers: tokens() });
    const refused = (baseUrl: string) =>
      call('POST', `${baseUrl}/api/upload`, {
        body: randomBytes(10_000),
        headers: { ...tokens(), 'X-Max-Downloads': '-1' },
      });
    expect(statuses(await atOnce(5, refused), 400)).toBe(5);
    const answers = await atOnce(20, upload);
    expect([statuses(answers, 200), statuses(answers, 429)]).toEqual([10, 10]);
  });

  test('of what comes with one key as much is stored as its quota has bytes for, and who ends an upload gives back the rest', async () => {
    const key = `mfk_${token()}`;
    const guarded = {
      REDIS_URL: cluster().url,
      TRUST_PROXY: '1',
      CREATE_GUARD: 'key',
      CREATE_KEYS: createHash('sha256').update(key).digest('hex'),
      CREATE_QUOTA_BYTES: '100000',
    };
    await using other = await startShape('split', guarded);
    const at = (index: number) => other.baseUrls[index % other.baseUrls.length] ?? '';
    const as = () => ({ ...from(newClient()), Authorization: `Bearer ${key}` });
    const begin = (bytes: number, ownerToken: string) => {
      const lengths = { 'X-Upload-Length': String(bytes), 'X-Part-Bytes': String(5 * 2 ** 20) };
      const headers = { ...uploadHeaders({ authToken: token(), ownerToken }), ...lengths, ...as() };
      return call('POST', `${at(0)}/api/parts`, { headers });
    };
    for (let round = 0; round < 5; round++) {
      const ownerToken = token();
      let begun = await begin(100_000, ownerToken);
      // What the round before has ended is given back soon after its answer.
      await untilTrue(async () => {
        if (begun.status !== 201) begun = await begin(100_000, ownerToken);
        return begun.status === 201;
      });
      expect((await begin(1, token())).status).toBe(429);
      const url = `${at(1)}/api/parts/${begun.body.id}`;
      expect((await call('DELETE', url, { headers: { 'X-Owner-Token': ownerToken } })).status).toBe(200);
    }
    await sleep(500); // until the last one is given back
    const upload = (index: number) => {
      const headers = { ...uploadHeaders({ authToken: token(), ownerToken: token() }), ...as() };
      return call('POST', `${at(index)}/api/upload`, { body: randomBytes(10_000), headers });
    };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => upload(index)));
    expect([statuses(answers, 200), statuses(answers, 429)]).toEqual([10, 10]);
  });

  test('while a slot is moved nobody is refused or waits, and its clients are still counted together', async () => {
    const client = newClient();
    expect((await look(client)(gateway(0))).status).toBe(200);
    const owned = await Promise.all(cluster().primaries.map((node) => cluster().keysOf(node, 'mayfly:rate:*')));
    const slot = Number(await first().call('CLUSTER', 'KEYSLOT', owned[0]?.[0] ?? ''));
    const [source, target] = [await cluster().ownerOf(slot), cluster().primaries[1]];
    if (!source || !target) throw new Error('nobody has the slot');
    const answers: { status: number }[] = [];
    let isMoved = false;
    const asking = (async () => {
      for (let index = 0; !isMoved || index < 100; index++) answers.push(await look(newClient())(gateway(index)));
    })();
    await cluster().moveSlot(slot, source, target);
    isMoved = true;
    await asking;
    expect(statuses(answers, 200)).toBe(answers.length);
    expect((await cluster().ownerOf(slot))?.port).toBe(target.port);
    for (let round = 0; round < 5; round++) expect(await isShared()).toBe(true);
  });

  test('when a primary is killed every process limits by itself, and all together again once its replica has taken over', async () => {
    const slot = Number(await first().call('CLUSTER', 'KEYSLOT', LAST_SWEEP));
    const owner = await cluster().ownerOf(slot);
    if (!owner) throw new Error('nobody has the slot');
    process.kill(owner.pid, 'SIGKILL');
    const during = await Promise.all(Array.from({ length: 100 }, (_, index) => look(newClient())(gateway(index))));
    expect(statuses(during, 200)).toBe(100);
    await untilTrue(async () => ![undefined, owner.port].includes((await cluster().ownerOf(slot))?.port), 30_000);
    await untilTrue(isWell, 30_000);
    await untilTrue(isShared, 30_000);
    for (let round = 0; round < 5; round++) expect(await isShared()).toBe(true);
    await sweepsGoOn();
  });
});
