import { untilHealthy } from '@mayfly/launcher/service';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { inSuite } from '@mayfly/testing/in-suite';
import { replaceableRedis } from '@mayfly/testing/replaceable-redis';
import { type RunningShape, type ServiceProcess, SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshDatabase, query } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { Api, call, noteBody, token, uploadHeaders } from '../support/api.ts';

type Health = { status: string; components: Record<string, string> };

const healthOf = async (baseUrl: string) => {
  const { status, body } = await call('GET', `${baseUrl}/api/health`);
  const { status: word, components } = body as Health;
  return { status, word, components };
};
/** What it says is a second old at most. */
const expectHealth = (baseUrl: string, expected: Record<string, unknown>) =>
  expect.poll(() => healthOf(baseUrl), { timeout: 5_000 }).toMatchObject(expected);
const WELL = { status: 200, word: 'ok', components: { files: 'ok', notes: 'ok', redis: 'ok' } };
const UNAVAILABLE = { error: 'Service unavailable' };

const expectUnavailable = ({ status, body, headers }: Awaited<ReturnType<typeof call>>) => {
  expect([status, body]).toEqual([503, UNAVAILABLE]);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
};

const warningsOf = (service: ServiceProcess, from = 0) =>
  service
    .output()
    .slice(from)
    .split('\n')
    .flatMap((line): { level: number; msg: string }[] => (line.startsWith('{') ? [JSON.parse(line)] : []))
    .filter(({ level }) => level >= 40);

/** What everybody may do on a service that is well, on every public address. */
async function expectAllWorks(running: RunningShape) {
  for (const baseUrl of running.baseUrls) {
    const api = new Api(baseUrl);
    const upload = await api.newUpload();
    expect((await api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
    const note = await api.newNote();
    expect((await api.view(note.id, note.authToken)).status).toBe(200);
  }
}

describe.each(SHAPES)('without Redis (%s)', (shape) => {
  const redis = inSuite(() => replaceableRedis());
  const running = inSuite(() => startShape(shape, { REDIS_URL: redis().url, REDIS_TIMEOUT_MS: '100' }));
  const untilWell = () =>
    untilTrue(async () => {
      const healths = await Promise.all(running().baseUrls.map(healthOf));
      return healths.every(({ status }) => status === 200);
    });

  test('one that hangs: health says so, everything else works and is not slow, and it is well again by itself', async () => {
    redis().pause();
    for (const baseUrl of running().baseUrls) {
      await expectHealth(baseUrl, {
        status: 503,
        word: 'degraded',
        components: { files: 'ok', notes: 'ok', redis: 'down' },
      });
    }
    for (const { adminUrl } of running().gateways) expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
    await expectAllWorks(running());
    const began = performance.now();
    for (let i = 0; i < 20; i++) await new Api(running().baseUrl).exists(token());
    expect(performance.now() - began).toBeLessThan(20 * 150 + 1_000);
    redis().resume();
    await untilWell();
    await expectAllWorks(running());
  });

  test('one that is killed and comes back empty: the same, and few warnings', async () => {
    const before = running().gateways.map((service) => service.output().length);
    await redis().kill();
    for (const baseUrl of running().baseUrls) {
      await expectHealth(baseUrl, { status: 503, components: { redis: 'down' } });
    }
    await expectAllWorks(running());
    for (let i = 0; i < 50; i++) await new Api(running().baseUrl).exists(token());
    await untilTrue(() => running().gateways.every((service, i) => warningsOf(service, before[i]).length > 0));
    await redis().start();
    await untilWell();
    await expectAllWorks(running());
    for (const [i, service] of running().gateways.entries()) {
      const warnings = warningsOf(service, before[i]);
      expect(warnings.length, JSON.stringify(warnings)).toBeLessThan(10);
    }
  });
});

describe.each(SHAPES)('without PostgreSQL (%s)', (shape) => {
  const database = inSuite(() => freshDatabase({ hasTables: true }));
  const proxy = inSuite(() => openFaultProxy(database().url));
  const running = inSuite(() => startShape(shape, { DATABASE_URL: proxy().url, TOKEN_FAILURES_MAX: '0' }));

  test('health is degraded, requests get 503, nothing is counted or stored, and all is well when it is back', async () => {
    const api = new Api(running().baseUrl);
    const upload = await api.newUpload();
    const note = await api.newNote();
    const lengths = running().processes.map((service) => service.output().length);
    proxy().cut();

    for (const baseUrl of running().baseUrls) {
      await expectHealth(baseUrl, {
        status: 503,
        word: 'degraded',
        components: { files: 'down', notes: 'down', redis: 'ok' },
      });
    }
    for (let i = 0; i < 20; i++) {
      expectUnavailable(await api.download(upload.id, upload.authToken));
      expectUnavailable(await api.view(note.id, note.authToken));
    }
    expectUnavailable(await api.info(upload.id));
    expectUnavailable(await api.deleteUpload(upload.id, upload.ownerToken));
    const sender = { authToken: token(), ownerToken: token() };
    expectUnavailable(await api.upload(Buffer.alloc(2_000_000), uploadHeaders(sender)));
    expectUnavailable(await api.createNote(noteBody()));
    expect((await call('GET', `${running().baseUrl}/api/config`)).status).toBe(200);

    proxy().mend();
    await untilTrue(async () => (await healthOf(running().baseUrl)).status === 200);
    await expectHealth(running().baseUrl, WELL);
    expect((await api.info(upload.id)).body.downloadCount).toBe(0);
    expect((await api.note(note.id)).body.viewCount).toBe(0);
    expect(await query(database().url, 'select count(*)::int as uploads from files.uploads')).toEqual([{ uploads: 1 }]);
    await expectAllWorks(running());

    // 40 requests and more have failed. What a warning is about may come once for each reason and pooled connection.
    for (const [i, service] of running().processes.entries()) {
      const warnings = warningsOf(service, lengths[i]).filter(({ msg }) => msg === 'service unavailable');
      expect(warnings.length, JSON.stringify(warnings)).toBeLessThanOrEqual(4);
    }
  });
});

describe('without a service (split)', () => {
  const running = inSuite(() => startShape('split'));
  test.each([
    ['files', 'notes'],
    ['notes', 'files'],
  ] as const)(
    '%s is killed: its requests get 503, %s goes on, one warning, and it is back without a restart of others',
    async (gone, other) => {
      const api = new Api(running().baseUrl);
      const gateway = running().processes.find(({ url }) => url === running().baseUrl) as ServiceProcess;
      const upload = await api.newUpload();
      const note = await api.newNote();
      const from = gateway.output().length;
      const candidates = running().processes.filter(({ name }) => name === gone);
      for (const service of candidates) await service.stop('SIGKILL');

      await expectHealth(running().baseUrl, {
        status: 503,
        word: 'degraded',
        components: { files: 'ok', notes: 'ok', redis: 'ok', [gone]: 'down' },
      });
      for (let i = 0; i < 20; i++) {
        const [lost, kept] = [await api.info(upload.id), await api.note(note.id)];
        const [ofGone, ofOther] = gone === 'files' ? [lost, kept] : [kept, lost];
        expectUnavailable(ofGone);
        expect(ofOther.status, other).toBe(200);
      }
      for (const service of candidates) service.restart();
      for (const one of running().gateways) await untilHealthy(one);
      await expectAllWorks(running());
      expect((await api.info(upload.id)).body.downloadCount).toBe(0);
      expect(warningsOf(gateway, from).map(({ msg }) => msg)).toEqual(['a service is away']);
    },
  );
});
