import { createHash } from 'node:crypto';
import { untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { type Answer, type Api, call, META, noteBody, token, unknownId, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';
import { PART, PartsApi } from '../support/parts.ts';
import { RequestsApi, requestBody } from '../support/requests.ts';

const KEYS = [`mfk_${token()}`, `mfk_${token()}`];
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');
const REFUSED = { error: 'Creating needs a key' };
const QUOTA = 1_000_000;

const tokens = () => ({ authToken: token(), ownerToken: token() });
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const LENGTHS = { 'X-Upload-Length': '2000', 'X-Part-Bytes': String(PART) };

/** All that creates, each with a request that is taken where no key is needed. */
const CREATING: Record<string, (api: Api, headers: Record<string, string>) => Promise<Answer>> = {
  'POST /api/upload': (api, headers) => api.upload('a payload', { ...uploadHeaders(tokens()), ...headers }),
  'POST /api/parts': (api, headers) => new PartsApi(api).begin(uploadHeaders(tokens(), { ...LENGTHS, ...headers })),
  'POST /api/note': (api, headers) => call('POST', `${api.baseUrl}/api/note`, { json: noteBody(), headers }),
  'POST /api/request': (api, headers) => call('POST', `${api.baseUrl}/api/request`, { json: requestBody(), headers }),
};
const creating = Object.entries(CREATING);

const configOf = async ({ api }: ShapeUnderTest) => (await call('GET', `${api.baseUrl}/api/config`)).body;

describeEachShape(
  'a service that asks for a key',
  {
    CREATE_GUARD: 'key',
    CREATE_KEYS: KEYS.map(hashOf).join(','),
    UPLOAD_QUOTA_BYTES: String(QUOTA),
    REQUEST_EXPIRE_OPTIONS_SEC: '1,3600',
  },
  (service) => {
    test.each(creating)('%s is 401 without a key that is known', async (_, create) => {
      const wrong = [
        {},
        bearer(`mfk_${token()}`),
        bearer(KEYS[0]?.slice(4) ?? ''),
        bearer('mfk_short'),
        { Authorization: `Basic ${KEYS[0]}` },
        { Authorization: '' },
      ];
      for (const api of service.replicas) {
        for (const headers of wrong) {
          const answer = await create(api, headers as Record<string, string>);
          expect([answer.status, answer.body, answer.headers['www-authenticate']]).toEqual([401, REFUSED, 'Bearer']);
        }
      }
    });

    test.each(creating)('%s works with each of the keys, on every replica', async (_, create) => {
      for (const api of service.replicas) {
        for (const key of KEYS) expect([200, 201]).toContain((await create(api, bearer(key))).status);
      }
    });

    // What is given back may come a moment after the answer.
    test('what is refused is not charged', async () => {
      for (let i = 0; i < 10; i++) {
        const answer = await service.api.upload('x'.repeat(QUOTA / 4), uploadHeaders(tokens()));
        expect(answer.status).toBe(401);
      }
      const { status } = await service.api.upload('x'.repeat(QUOTA / 4), {
        ...uploadHeaders(tokens()),
        ...bearer(KEYS[0] ?? ''),
      });
      expect(status).toBe(200);
    });

    test('nothing else asks for one: who has a link or an owner token needs no key', async () => {
      const { api } = service;
      const owner = tokens();
      const sent = await api.upload('a payload', { ...uploadHeaders(owner), ...bearer(KEYS[1] ?? '') });
      const id = String(sent.body.id);
      expect((await api.setMeta(id, owner.ownerToken)).status).toBe(200);
      expect((await api.info(id)).status).toBe(200);
      expect((await api.download(id, owner.authToken)).status).toBe(200);
      expect((await api.deleteUpload(id, owner.ownerToken)).status).toBe(200);
      const note = noteBody();
      const noted = await call('POST', `${api.baseUrl}/api/note`, { json: note, headers: bearer(KEYS[1] ?? '') });
      expect((await api.view(String(noted.body.id), note.authToken)).status).toBe(200);
      const payload = Buffer.alloc(2_000);
      const begun = await new PartsApi(api).begin(uploadHeaders(owner, { ...LENGTHS, ...bearer(KEYS[1] ?? '') }));
      const part = await new PartsApi(api).put(String(begun.body.id), 1, owner.ownerToken, payload);
      expect(part.status).toBe(200);
    });

    const ask = async (changes: Record<string, unknown> = {}) => {
      const { baseUrl } = service.api;
      const json = requestBody(changes);
      const { body } = await call('POST', `${baseUrl}/api/request`, { json, headers: bearer(KEYS[0] ?? '') });
      return String(body.id);
    };
    const takeSlot = (id: string, api = service.api) => call('POST', `${api.baseUrl}/api/request/${id}/slot`);
    const slotOf = async (id: string) => ({ 'X-Request-Slot': String((await takeSlot(id)).body.slot) });

    test.each(creating.filter(([name]) => name === 'POST /api/upload' || name === 'POST /api/parts'))(
      'a slot of a request lets %s pass once, of many at the same moment on all replicas',
      async (_, create) => {
        const slot = await slotOf(await ask());
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, i) => create(service.replicas[i % service.replicas.length] as Api, slot)),
        );
        expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
        const refused = answers.filter(({ status }) => status >= 300);
        for (const { status, body } of refused) expect([status, body]).toEqual([401, REFUSED]);
      },
    );

    test('with it somebody without a key sends to a request, until it is full', async () => {
      const id = await ask({ maxDrops: 1 });
      const owner = tokens();
      const sent = await service.api.upload('a payload', { ...uploadHeaders(owner), ...(await slotOf(id)) });
      const upload = { id: String(sent.body.id), ownerToken: owner.ownerToken };
      await service.api.setMeta(upload.id, upload.ownerToken, META);
      expect((await new RequestsApi(service.api).drop(id, upload)).status).toBe(200);
      const full = await takeSlot(id);
      expect([full.status, full.body]).toEqual([410, { error: 'Request is full' }]);
    });

    test('a slot lets nothing but uploads pass, and is not spent by anything else', async () => {
      const slot = await slotOf(await ask());
      for (const name of ['POST /api/note', 'POST /api/request'])
        expect((await CREATING[name]?.(service.api, slot))?.status).toBe(401);
      expect((await CREATING['POST /api/upload']?.(service.api, slot))?.status).toBe(200);
    });

    test('there is no slot of a request that is not there, or is over', async () => {
      expect((await takeSlot(unknownId)).status).toBe(404);
      const id = await ask({ expireSec: 1 });
      await untilTrue(async () => (await takeSlot(id)).status === 410);
      expect((await takeSlot(id)).body).toEqual({ error: 'Request has expired' });
    });

    test('clients are told, and the reference says it of what creates alone', async () => {
      expect(await configOf(service)).toMatchObject({ createGuard: 'key' });
      const { body } = await call('GET', `${service.api.baseUrl}/api/openapi.json`);
      const { paths } = body as {
        paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
      };
      const guarded = Object.entries(paths).flatMap(([path, operations]) =>
        Object.entries(operations)
          .filter(([, { responses }]) => responses['401']?.description === REFUSED.error)
          .map(([method]) => `${method.toUpperCase()} ${path}`),
      );
      expect(guarded).toEqual(expect.arrayContaining(Object.keys(CREATING)));
      expect(guarded.filter((name) => name.includes('{'))).toEqual([]);
    });

    test('no key is in a log', () => {
      const logs = service.running.processes.map(({ output }) => output()).join('');
      expect(logs).toContain('/api/upload');
      expect(KEYS.filter((key) => logs.includes(key) || logs.includes(hashOf(key)))).toEqual([]);
    });
  },
);

describeEachShape(
  'a service that goes by a header of its proxy',
  {
    CREATE_GUARD: 'header',
    CREATE_HEADER: 'X-Client-Verify',
    CREATE_HEADER_VALUES: 'SUCCESS, ALSO',
    TRUST_PROXY: '127.0.0.0/8,::1',
  },
  (service) => {
    const known = { 'X-Client-Verify': 'SUCCESS' };

    test.each(creating)('%s works with it, on every replica, and is 401 without', async (_, create) => {
      for (const api of service.replicas) {
        expect([200, 201]).toContain((await create(api, known)).status);
        const wrong = [{}, { 'X-Client-Verify': 'NONE' }, { 'X-Client-Verify': '' }, bearer(`mfk_${token()}`)];
        for (const headers of wrong) {
          const answer = await create(api, headers as Record<string, string>);
          expect([answer.status, answer.body]).toEqual([401, REFUSED]);
        }
      }
    });

    test('who sends to a request needs no more than its link', async () => {
      const { baseUrl } = service.api;
      const { body } = await call('POST', `${baseUrl}/api/request`, { json: requestBody(), headers: known });
      const { body: permission } = await call('POST', `${baseUrl}/api/request/${body.id}/slot`);
      const slot = { 'X-Request-Slot': String(permission.slot) };
      expect((await CREATING['POST /api/upload']?.(service.api, slot))?.status).toBe(200);
      expect((await CREATING['POST /api/upload']?.(service.api, slot))?.status).toBe(401);
    });

    test('clients are told', async () => {
      expect(await configOf(service)).toMatchObject({ createGuard: 'header' });
    });
  },
);

describeEachShape(
  'a service whose proxy is somewhere else',
  { CREATE_GUARD: 'header', CREATE_HEADER: 'X-User', TRUST_PROXY: '10.1.2.3' },
  (service) => {
    test.each(creating)('%s: the header is not believed, whatever X-Forwarded-For says', async (_, create) => {
      const forged = { 'X-User': 'anna', 'X-Forwarded-For': '10.1.2.3' };
      expect((await create(service.api, forged)).status).toBe(401);
    });
  },
);

describeEachShape('a service that asks for none', {}, (service) => {
  test.each(creating)('%s takes no notice of a key', async (_, create) => {
    expect([200, 201]).toContain((await create(service.api, {})).status);
    expect([200, 201]).toContain((await create(service.api, bearer('mfk_whatever'))).status);
  });

  test('there are no slots', async () => {
    const { id } = await new RequestsApi(service.api).ask();
    const { status, body } = await call('POST', `${service.api.baseUrl}/api/request/${id}/slot`);
    expect([status, body]).toEqual([404, { error: 'Not Found' }]);
  });

  test('clients hear nothing of it', async () => {
    expect(await configOf(service)).not.toHaveProperty('createGuard');
  });
});
