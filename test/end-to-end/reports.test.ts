import { randomBytes, randomUUID } from 'node:crypto';
import { fetchTransport, MayflyClient } from '@mayfly/client';
import { newOperatorKeys, sendReport } from '@mayfly/client/reports';
import { FileRequests } from '@mayfly/client/requests';
import { query } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { runAdmin } from '../support/admin-command.ts';
import { call, META, token, unknownId, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';
import { PartsApi, payloadOf } from '../support/parts.ts';
import { ReportsApi } from '../support/reports.ts';
import { RequestsApi } from '../support/requests.ts';

const keys = await newOperatorKeys();
const OPEN = { CLEANUP_INTERVAL_SEC: '3600', REPORTS_PER_CLIENT_MAX: '0', RATE_LIMIT_MAX: '0' };
const MOST_OF_ITEM = 20;

const adminOf =
  (service: ShapeUnderTest) =>
  (args: string[], more: Record<string, string> = {}) =>
    runAdmin(args, { DATABASE_URL: service.running.databaseUrl, ...service.running.blobs.settings, ...more });

describeEachShape(
  'reports',
  { ...OPEN, LOG_LEVEL: 'trace', REPORTS: 'on', REPORT_PUBLIC_KEY: keys.publicKey },
  (service) => {
    const reports = () => new ReportsApi(service.api);
    const admin = (...args: string[]) => adminOf(service)(args);
    const asJson = async (...args: string[]) => {
      const { code, stdout } = await admin(...args, '--json');
      return { code, facts: JSON.parse(stdout) };
    };
    const block = async (id: string, reason = 'malware') => {
      const { code, facts } = await asJson('block', id, '--reason', reason);
      expect([code, facts]).toMatchObject([0, { reason }]);
      return facts.blocked;
    };

    describe('POST /api/report/<id>', () => {
      test('202: for an upload, a note, a request, for what was deleted or never was: the same', async () => {
        const upload = await service.api.newUpload();
        const note = await service.api.newNote();
        const request = await new RequestsApi(service.api).ask();
        const deleted = await service.api.newUpload();
        await service.api.deleteUpload(deleted.id, deleted.ownerToken);
        const ids = [
          upload.id,
          note.id,
          request.id,
          deleted.id,
          randomUUID(),
          unknownId,
          'no-id',
          upload.id.toUpperCase(),
        ];
        const answers = await Promise.all(ids.map((id) => reports().report(id)));
        const seen = answers.map(({ status, text, headers }) => {
          const { date: _, 'x-request-id': __, ratelimit: ___, ...same } = headers;
          return JSON.stringify({ status, text, same });
        });
        expect(answers[0]).toMatchObject({ status: 202, body: { ok: true } });
        expect(new Set(seen).size).toBe(1);
      });

      test('202: the time tells nothing either', async () => {
        const ROUNDS = 60;
        const many = () => Promise.all(Array.from({ length: ROUNDS }, () => service.api.newUpload()));
        const [existing, deleted] = [await many(), await many()];
        for (const { id, ownerToken } of deleted) await service.api.deleteUpload(id, ownerToken);
        const times: Record<string, number[]> = { existing: [], deleted: [], unknown: [] };
        for (let round = 0; round < ROUNDS; round += 1) {
          // Each id once, since what was reported before takes its time; and each kind as often first as the others.
          const ids = [
            ['existing', existing[round]?.id],
            ['deleted', deleted[round]?.id],
            ['unknown', randomUUID()],
          ] as const;
          for (let turn = 0; turn < 3; turn += 1) {
            const [name, id] = ids[(round + turn) % 3] ?? ids[0];
            const start = performance.now();
            await reports().report(String(id));
            times[name]?.push(performance.now() - start);
          }
        }
        const medians = Object.entries(times).map(([name, all]) => {
          const sorted = all.toSorted((a, b) => a - b);
          return { name, ms: sorted[Math.floor(sorted.length / 2)] ?? 0 };
        });
        console.log(
          `reports (${service.shape}): ${medians.map(({ name, ms }) => `${name} ${ms.toFixed(2)} ms`).join(', ')}`,
        );
        const all = medians.map(({ ms }) => ms);
        expect(Math.max(...all) / Math.min(...all)).toBeLessThan(3); // the machine is busy; the statements are the same
      });

      test.each([
        ['no kind', { text: 'x' }, 'kind'],
        ['a kind that is none', { kind: 'spam' }, 'kind'],
        ['too much text', { kind: 'other', text: 'ü'.repeat(1_025) }, 'text'],
        ['enc alone', { kind: 'other', enc: 'ZW5j' }, 'sealed'],
        ['enc that is too long', { kind: 'other', enc: 'A'.repeat(2_736), sealed: 'ZW5j' }, 'enc'],
        ['sealed that is too long', { kind: 'other', enc: 'ZW5j', sealed: 'A'.repeat(344) }, 'sealed'],
        ['a token that is none', { kind: 'other', authToken: 'no token' }, 'authToken'],
      ])('400: %s', async (_, json, field) => {
        const { status, body } = await reports().report(randomUUID(), json);
        expect([status, body]).toEqual([400, { error: 'Invalid request', details: { [field]: [expect.any(String)] } }]);
      });

      test('413: a body that no report has', async () => {
        const { status } = await reports().report(randomUUID(), { kind: 'other', text: 'x'.repeat(17_000) });
        expect(status).toBe(413);
      });

      test('a hundred at once of one item leave as many as are kept, and change nothing', async () => {
        const upload = await service.api.newUpload();
        await Promise.all(
          Array.from({ length: 100 }, (_, i) =>
            new ReportsApi(service.replicas[i % service.replicas.length] ?? service.api).report(upload.id),
          ),
        );
        const mine = (await asJson('reports')).facts.filter(({ report }: { report: string }) =>
          report.startsWith(upload.id),
        );
        expect(mine).toHaveLength(MOST_OF_ITEM);
        expect(mine[0]).toMatchObject({ item: 'upload', kind: 'malware', isDisclosed: false });
        expect((await service.api.download(upload.id, upload.authToken)).status).toBe(200);
        expect((await asJson('dismiss', upload.id)).facts).toEqual({ dismissed: MOST_OF_ITEM });
      });

      test('what was reported of nothing goes with the next sweep', async () => {
        const id = randomUUID();
        await reports().report(id);
        await admin('sweep');
        expect(
          (await asJson('reports')).facts.filter(({ report }: { report: string }) => report.startsWith(id)),
        ).toEqual([]);
      });

      test('text of a stranger reaches the operator, and steers no terminal', async () => {
        const upload = await service.api.newUpload();
        const text = 'line\n\u001b[31mred\u001b[0m \u202egnp.exe\0';
        expect((await reports().report(upload.id, { kind: 'other', text, authToken: upload.authToken })).status).toBe(
          202,
        );
        const { stdout } = await admin('reports');
        expect(stdout).toContain('other, upload, had the link\n  line [31mred [0m  gnp.exe');
        for (const hidden of ['\u001b', '\u202e', '\0']) expect(stdout).not.toContain(hidden);
      });

      test('neither text nor what is disclosed, no token and no id of a report is in a log', async () => {
        const upload = await service.api.newUpload();
        const [enc, sealed] = ['ZW5jYXBzdWxhdGVk', 'c2VhbGVkIGNhbmFyeQ=='];
        const text = 'A canary was harmed';
        await reports().report(upload.id, { kind: 'csam', text, enc, sealed, authToken: upload.authToken });
        await reports().report(upload.id, { kind: 'none', text, enc, sealed, authToken: upload.authToken });
        await reports().notice(upload.id);
        const logs = service.running.processes.map(({ output }) => output()).join('\n');
        expect(logs).toContain('"route":"/api/report/:id"');
        for (const canary of [upload.id, text, enc, sealed, upload.authToken, '127.0.0.1"', '"remoteAddress"']) {
          expect(logs).not.toContain(canary);
        }
        const [row] = await query(
          service.running.databaseUrl,
          `select row_to_json(r)::text as row from desk.reports r where item_id = '${upload.id}'`,
        );
        expect(String(row?.row)).toContain(text);
        expect(String(row?.row)).not.toContain(upload.authToken);
        expect(String(row?.row)).not.toContain('127.0.0.1');
      });
    });

    describe('GET /api/notice/<id>', () => {
      test('200: what was blocked, when and why; 404 for everything else, and when the block is taken back', async () => {
        const upload = await service.api.newUpload();
        expect((await reports().notice(upload.id)).status).toBe(404);
        const before = await reports().notice(randomUUID());
        expect([before.status, before.body]).toEqual([404, { error: 'Not Found' }]);
        expect(await block(upload.id, 'copyright')).toBe('upload');
        for (const api of service.replicas) {
          const { status, body } = await new ReportsApi(api).notice(upload.id.toUpperCase());
          expect([status, body]).toEqual([
            200,
            { kind: 'copyright', blockedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/) },
          ]);
        }
        expect((await asJson('unblock', upload.id)).facts).toEqual({ unblocked: true });
        expect((await reports().notice(upload.id)).status).toBe(404);
        expect((await service.api.info(upload.id)).status).toBe(404); // what was erased stays so
        expect((await reports().own('upload', upload.id, upload.ownerToken)).status).toBe(404);
        expect((await reports().notice('no-id')).status).toBe(404);
      });
    });

    test('a block during 50 downloads and 5 leases: every new request is 404 at once, the blob goes with one sweep', async () => {
      const payload = randomBytes(4_000_000);
      const upload = await service.api.newUpload({ 'X-Max-Downloads': '100' }, payload);
      await service.api.setMeta(upload.id, upload.ownerToken, META);
      const leases = Array.from({ length: 5 }, () => randomBytes(32).toString('base64url'));
      const ranged = (lease: string, api = service.api) =>
        call('GET', `${api.baseUrl}/api/lease/${upload.id}`, {
          headers: { 'X-Auth-Token': upload.authToken, 'X-Download-Lease': lease, Range: 'bytes=0-999' },
        });
      for (const lease of leases) expect((await ranged(lease)).status).toBe(206);
      const held = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          fetch(`${service.replicas[i % service.replicas.length]?.baseUrl}/api/download/${upload.id}`, {
            headers: { 'X-Auth-Token': upload.authToken },
          }),
        ),
      );
      expect(held.map(({ status }) => status)).toEqual(Array(50).fill(200));

      expect(await block(upload.id)).toBe('upload');
      for (const api of service.replicas) {
        const later = await Promise.all([
          api.download(upload.id, upload.authToken),
          api.info(upload.id),
          api.exists(upload.id),
          api.setMeta(upload.id, upload.ownerToken),
          api.deleteUpload(upload.id, upload.ownerToken),
          ...leases.map((lease) => ranged(lease, api)),
        ]);
        expect(later.map(({ status }) => status)).toEqual(Array(later.length).fill(404));
        const own = await new ReportsApi(api).own('upload', upload.id, upload.ownerToken);
        expect([own.status, own.body]).toMatchObject([
          200,
          { state: 'blocked', kind: 'malware', downloadCount: 55, maxDownloads: 100, metaSet: false },
        ]);
        expect((await new ReportsApi(api).own('upload', upload.id, token())).status).toBe(401);
      }
      // Those that were under way end as with an owner's delete: whole, or broken; never with other bytes.
      const ends = await Promise.all(held.map((answer) => answer.bytes().catch(() => undefined)));
      for (const bytes of ends) if (bytes) expect(Buffer.from(bytes).equals(payload)).toBe(true);

      await admin('sweep');
      expect((await service.running.blobs.names()).filter((name) => name.includes(upload.id))).toEqual([]);
      const compared = await adminOf(service)(['reconcile', '--json'], { RECONCILE_GRACE_SEC: '1' });
      expect([compared.code, JSON.parse(compared.stdout)]).toMatchObject([
        0,
        { orphans: 0, lost: 0, outcome: expect.stringMatching(/mended|counted/) },
      ]);
      const rows = await query(
        service.running.databaseUrl,
        `select id::text from files.uploads where id = '${upload.id}'`,
      );
      expect(rows).toEqual([]);
    });

    test('a note and its owner; a request, which takes nothing more', async () => {
      const note = await service.api.newNote();
      expect(await block(note.id, 'phishing')).toBe('note');
      expect((await service.api.view(note.id, note.authToken)).status).toBe(404);
      const own = await reports().own('note', note.id, note.ownerToken);
      expect([own.status, own.body]).toMatchObject([200, { state: 'blocked', kind: 'phishing', viewCount: 0 }]);

      const requests = new RequestsApi(service.api);
      const [request, upload] = [await requests.ask(), await requests.upload()];
      expect(await block(request.id, 'other')).toBe('request');
      expect((await requests.info(request.id)).status).toBe(404);
      expect((await requests.drop(request.id, upload)).status).toBe(404);
      expect((await requests.drops(request.id, request.ownerToken)).status).toBe(404);
      expect((await reports().notice(request.id)).body).toMatchObject({ kind: 'other' });
      expect((await service.api.info(upload.id)).status).toBe(200); // its sender's
    });

    test('an upload that is on its way never appears', async () => {
      const parts = new PartsApi(service.api);
      const coming = await parts.begun(payloadOf(2), { 'X-Announce': 'true' });
      await parts.send(coming, 1);
      expect((await parts.arrival(coming.id)).status).toBe(200);
      expect(await block(coming.id, 'csam')).toBe('upload');
      expect((await parts.arrival(coming.id)).status).toBe(404);
      expect((await parts.send(coming, 2)).status).toBe(404);
      expect((await parts.complete(coming.id, coming.ownerToken, { length: coming.payload.length })).status).toBe(404);
      expect((await reports().notice(coming.id)).status).toBe(200);
      await admin('sweep');
      expect((await service.running.blobs.names()).filter((name) => name.includes(coming.id))).toEqual([]);
    });

    test('blocked while it is completed, again and again: gone for everyone, and nothing is left', async () => {
      const parts = new PartsApi(service.api);
      for (let round = 0; round < 5; round += 1) {
        const coming = await parts.begun(payloadOf(2));
        await Promise.all([parts.send(coming, 1), parts.send(coming, 2)]);
        const completing = parts.complete(coming.id, coming.ownerToken, { length: coming.payload.length });
        await block(coming.id);
        expect([200, 202, 404, 410]).toContain((await completing).status);
        expect((await service.api.exists(coming.id)).status).toBe(404);
        await admin('sweep');
      }
    });

    test('a disclosed link is genuine, or is not: neither reporter nor sender can lie', async () => {
      const { baseUrl } = service.running;
      const client = new MayflyClient({ baseUrl });
      const transport = fetchTransport();
      const [mine, other] = await Promise.all([
        client.createNote('look at this', { expireSec: 3600, maxViews: 1 }),
        client.createNote('and this', { expireSec: 3600, maxViews: 1 }),
      ]);
      const requests = new FileRequests({ baseUrl });
      const limits = { maxDrops: 1, maxBytes: 100_000, dropExpireSec: 3600, dropMaxDownloads: 1, expireSec: 3600 };
      const request = await requests.create({ title: 'Send me yours', ...limits });
      const fragmentOf = (link: string) => link.slice(link.indexOf('#') + 1);
      const send = (id: string, fragment: string, publicKey = keys.publicKey) =>
        sendReport({ transport }, { baseUrl, id }, { kind: 'phishing', text: '', disclosure: { fragment, publicKey } });
      await send(mine.id, fragmentOf(mine.link));
      await send(mine.id, fragmentOf(other.link)); // of another note
      await send(mine.id, Buffer.alloc(32, 7).toString('base64url')); // invented
      await send(mine.id, fragmentOf(mine.link), (await newOperatorKeys()).publicKey); // for somebody else
      await send(request.id, fragmentOf(request.dropLink));

      const more = { REPORT_PRIVATE_KEY: keys.privateKey, BASE_URL: `${baseUrl}/` };
      const open = async (report: string) => {
        const { code, stdout } = await adminOf(service)(['open', report, '--json'], more);
        return { code, ...JSON.parse(stdout) };
      };
      expect(await open(`${mine.id}/1`)).toEqual({
        code: 0,
        report: `${mine.id}/1`,
        verdict: 'genuine',
        link: mine.link,
      });
      expect(await open(`${mine.id}/2`)).toEqual({ code: 1, report: `${mine.id}/2`, verdict: 'false' });
      expect(await open(`${mine.id}/3`)).toEqual({ code: 1, report: `${mine.id}/3`, verdict: 'false' });
      expect(await open(`${mine.id}/4`)).toEqual({ code: 1, problem: 'not opened' });
      expect(await open(`${mine.id}/5`)).toEqual({ code: 1, problem: 'no report' });
      expect(await open(`${request.id}/1`)).toMatchObject({ code: 0, verdict: 'genuine', link: request.dropLink });
      const without = await adminOf(service)(['open', `${mine.id}/1`]);
      expect([without.code, without.stdout]).toEqual([1, expect.stringContaining('REPORT_PRIVATE_KEY is missing')]);
    });

    test.each([
      [['block', unknownId]],
      [['block', unknownId, '--reason', 'spam']],
      [['reports', '--reason', 'csam']],
      [['open']],
    ])('a wrong command line is told how it goes: %j', async (args) => {
      const { code, stdout, stderr } = await admin(...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Usage:');
    });

    test('what is not there is not blocked, nor unblocked, nor dismissed', async () => {
      expect((await admin('block', unknownId, '--reason', 'other')).code).toBe(1);
      expect((await admin('unblock', unknownId)).code).toBe(1);
      expect((await admin('dismiss', unknownId)).code).toBe(1);
      expect((await admin('block', 'no-id', '--reason', 'other')).code).toBe(1);
    });
  },
);

describeEachShape('reports of one client', { REPORTS: 'on', REPORTS_PER_CLIENT_MAX: '4' }, (service) => {
  test('429 after as many as it may send in an hour, over all replicas; others are told nothing of it', async () => {
    const answers = [];
    for (let i = 0; i < 6; i += 1) {
      answers.push(
        await new ReportsApi(service.replicas[i % service.replicas.length] ?? service.api).report(randomUUID()),
      );
    }
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 429, 429]);
    expect(Number(answers[4]?.headers['retry-after'])).toBeGreaterThan(3_000);
  });

  test('without a key nothing is disclosed: what is sealed all the same is not kept', async () => {
    const { body } = await call('GET', `${service.api.baseUrl}/api/config`);
    expect(body.reports).toEqual({});
    const rows = await query(service.running.databaseUrl, 'select enc, sealed from desk.reports');
    expect(rows.filter(({ enc, sealed }) => enc !== null || sealed !== null)).toEqual([]);
  });
});

describeEachShape('a service that takes no reports', {}, (service) => {
  test('their paths are none, config does not name them, and what is blocked is as if it had been deleted', async () => {
    const reports = new ReportsApi(service.api);
    const { body } = await call('GET', `${service.api.baseUrl}/api/config`);
    expect(body).not.toHaveProperty('reports');
    const upload = await service.api.newUpload();
    expect((await reports.report(upload.id)).status).toBe(404);
    const { code } = await adminOf(service)(['block', upload.id, '--reason', 'other']);
    expect(code).toBe(0);
    expect((await reports.notice(upload.id)).status).toBe(404);
    expect((await reports.own('upload', upload.id, upload.ownerToken)).status).toBe(404);
    expect((await service.api.exists(upload.id)).status).toBe(404);
    const again = await service.api.upload(randomBytes(10), uploadHeaders({ authToken: token(), ownerToken: token() }));
    expect(again.status).toBe(200);
  });
});
