import { randomBytes } from 'node:crypto';
import { openSocket, requestHead } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { call, META, PASSWORD_HEADERS, token, unknownId, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { type Begun, digestOf, PART, PartsApi, payloadOf } from '../support/parts.ts';

const NOT_FOUND = { error: 'Upload not found' };
const NO_OWNER = { error: 'Invalid or missing owner token' };

describeEachShape('uploads in parts', {}, (service) => {
  const api = () => new PartsApi(service.api);
  /** Replicas take turns. */
  const anyOf = (index: number) => new PartsApi(service.replicas[index % service.replicas.length] ?? service.api);
  const completed = async (upload: Begun) => {
    const answer = await api().complete(upload.id, upload.ownerToken, { length: upload.payload.length, ...META });
    expect([answer.status, answer.body]).toEqual([200, { id: upload.id, url: upload.url }]);
    return answer;
  };
  const tokens = () => ({ authToken: token(), ownerToken: token() });
  const lengths = { 'X-Upload-Length': '1000', 'X-Part-Bytes': String(PART) };

  describe('POST /api/parts', () => {
    test('201: its id, its address and its end; nobody can see the upload', async () => {
      const answer = await api().begin(
        uploadHeaders(tokens(), { ...lengths, 'X-Upload-Length': String(2 * PART + 1) }),
      );
      const id = String(answer.body.id);
      expect([answer.status, answer.body]).toEqual([
        201,
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          url: `${service.api.baseUrl}/d/${id}`,
          partBytes: PART,
          parts: 3,
          endsAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
        },
      ]);
      const leftSec = (Date.parse(String(answer.body.endsAt)) - Date.now()) / 1000;
      expect(Math.abs(leftSec - 86_400)).toBeLessThan(60);
      expect((await service.api.info(id)).body).toEqual(NOT_FOUND);
      expect((await service.api.exists(id)).body).toEqual({ exists: false });
      expect((await service.api.deleteUpload(id, token())).status).toBe(404);
      expect((await service.api.download(id, token())).status).toBe(404);
      expect((await service.api.setMeta(id, token())).status).toBe(404);
    });

    test('201: with a length that is not known yet', async () => {
      const known = { 'X-Upload-Length': undefined, 'X-Upload-Length-Max': '20000000', 'X-Part-Bytes': String(PART) };
      const answer = await api().begin(uploadHeaders(tokens(), known));
      expect([answer.status, answer.body.parts]).toEqual([201, null]);
    });

    test.each<[string, Record<string, string | undefined>, string]>([
      ['no length', { 'X-Upload-Length': undefined }, 'X-Upload-Length'],
      ['both lengths', { 'X-Upload-Length-Max': '1000' }, 'X-Upload-Length-Max'],
      ['a length of zero', { 'X-Upload-Length': '0' }, 'X-Upload-Length'],
      ['a length that is none', { 'X-Upload-Length': '1e3' }, 'X-Upload-Length'],
      ['no part length', { 'X-Part-Bytes': undefined }, 'X-Part-Bytes'],
      ['parts that are too small', { 'X-Part-Bytes': String(PART - 1) }, 'X-Part-Bytes'],
      ['parts that are too large', { 'X-Part-Bytes': '99000001' }, 'X-Part-Bytes'],
      ['an announcement that is none', { 'X-Announce': 'yes' }, 'X-Announce'],
      ['what POST /api/upload refuses as well', { 'X-Salt': 'short' }, 'X-Salt'],
      ['a password without its fields', { ...PASSWORD_HEADERS, 'X-Password-Salt': undefined }, 'X-Password-Salt'],
    ])('400: %s', async (_, changes, field) => {
      const answer = await api().begin(uploadHeaders(tokens(), { ...lengths, ...changes }));
      expect([answer.status, answer.body.error]).toEqual([400, 'Invalid request']);
      expect(Object.keys(answer.body.details as object)).toEqual([field]);
    });

    test.each(['X-Upload-Length', 'X-Upload-Length-Max'])('413: %s over the maximum', async (name) => {
      const changes = {
        'X-Upload-Length': undefined,
        'X-Part-Bytes': String(PART),
        [name]: String(2049 * 1024 ** 2 + 1),
      };
      const answer = await api().begin(uploadHeaders(tokens(), changes));
      expect([answer.status, answer.body]).toEqual([413, { error: 'File size exceeds maximum allowed size' }]);
    });
  });

  test('an upload is what its parts were: in any order, through any replica, each sent again; described when it appears', async () => {
    const upload = await api().begun(payloadOf(4), { 'X-Max-Downloads': '1' });
    for (const [index, number] of [3, 1, 4, 1, 2, 3].entries()) {
      const answer = await anyOf(index).send(upload, number);
      expect([answer.status, answer.body]).toEqual([200, { number, bytes: number === 4 ? 1_000 : PART }]);
    }
    const { length } = upload.payload;
    const done = await anyOf(1).complete(upload.id, upload.ownerToken, { length, ...META });
    expect([done.status, done.body.id]).toEqual([200, upload.id]);
    const info = await service.api.info(upload.id);
    expect([info.status, info.body]).toEqual([
      200,
      expect.objectContaining({ size: length, ...META, downloadCount: 0 }),
    ]);
    expect((await service.running.blobs.names()).filter((name) => name.includes(upload.id))).toEqual([
      `${upload.id}.bin`,
    ]);
    const download = await service.api.download(upload.id, upload.authToken);
    expect((download.body.bytes as Buffer).equals(upload.payload)).toBe(true);
    expect((await service.api.download(upload.id, upload.authToken)).status).toBe(410);
  });

  test('of twenty requests for one part, and of twenty to complete, at once all succeed, and there is one payload', async () => {
    const upload = await api().begun(payloadOf(2));
    const parts = await Promise.all(Array.from({ length: 20 }, (_, index) => anyOf(index).send(upload, 1)));
    expect(parts.map(({ status }) => status)).toEqual(parts.map(() => 200));
    await api().send(upload, 2);
    const { length } = upload.payload;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => anyOf(index).complete(upload.id, upload.ownerToken, { length })),
    );
    expect(answers.map(({ status, body }) => [status, body.id])).toEqual(answers.map(() => [200, upload.id]));
    const download = await service.api.download(upload.id, upload.authToken);
    expect((download.body.bytes as Buffer).equals(upload.payload)).toBe(true);
    expect((await service.running.blobs.names()).filter((name) => name.includes(upload.id))).toEqual([
      `${upload.id}.bin`,
    ]);
  });

  describe('POST /api/parts/<id>/<number>', () => {
    test('400, 401, 404, 411: what is wrong with a part is said, and nothing of it is stored', async () => {
      const upload = await api().begun(payloadOf(2));
      const { id, ownerToken } = upload;
      const bytes = Buffer.alloc(1_000);
      const said = async (...given: Parameters<PartsApi['put']>) => {
        const { status, body } = await api().put(...given);
        return [status, body.error, ...Object.entries((body.details ?? {}) as object).flat(2)];
      };
      for (const number of ['0', '-1', 'x', '1001', '1e1']) {
        expect(await said(id, number, ownerToken, bytes)).toEqual([
          400,
          'Invalid request',
          'number',
          'must be a whole number from 1 to 1000',
        ]);
      }
      expect(await said(id, 3, ownerToken, bytes)).toEqual([
        400,
        'Invalid request',
        'number',
        'must be a whole number from 1 to 2',
      ]);
      expect(await said(id, 1, ownerToken, bytes)).toEqual([
        400,
        'Invalid request',
        'Content-Length',
        `must be ${PART}`,
      ]);
      expect(await said(id, 2, ownerToken, Buffer.alloc(999))).toEqual([
        400,
        'Invalid request',
        'Content-Length',
        'must be 1000',
      ]);
      expect(await said(id, 2, ownerToken, bytes, { 'Content-Digest': 'md5=:x:' })).toEqual([
        400,
        'Invalid request',
        'Content-Digest',
        'must have sha-256=:base64 of 32 bytes:',
      ]);
      expect(await said(id, 2, ownerToken, bytes, { 'Content-Digest': digestOf(Buffer.alloc(999)) })).toEqual([
        400,
        'Invalid request',
        'Content-Digest',
        'must match the body',
      ]);
      for (const wrong of [token(), upload.authToken, undefined]) {
        expect(await said(id, 2, wrong, bytes)).toEqual([401, NO_OWNER.error]);
      }
      for (const unknown of [unknownId, 'x', '..%2f'])
        expect(await said(unknown, 2, ownerToken, bytes)).toEqual([404, NOT_FOUND.error]);
      const chunked = await call('POST', `${service.api.baseUrl}/api/parts/${id}/2`, {
        headers: { 'X-Owner-Token': ownerToken },
        body: (async function* () {
          yield bytes;
        })(),
      });
      expect([chunked.status, chunked.body]).toEqual([411, { error: 'Content-Length is required' }]);
      expect((await api().state(id, ownerToken)).body).toMatchObject({ stored: '', bytes: 0 });
    });

    test('a part that breaks off is not stored, and what was stored of it before stays', async () => {
      const upload = await api().begun(payloadOf(2));
      await api().send(upload, 1);
      const socket = await openSocket(service.api.baseUrl);
      const head = { 'X-Owner-Token': upload.ownerToken, 'Content-Length': String(PART) };
      socket.write(requestHead(`POST /api/parts/${upload.id}/1`, head) + 'x'.repeat(100_000));
      await new Promise((resolve) => setTimeout(resolve, 300));
      socket.destroy();
      await api().send(upload, 2);
      await completed(upload);
      const download = await service.api.download(upload.id, upload.authToken);
      expect((download.body.bytes as Buffer).equals(upload.payload)).toBe(true);
    });

    test('with the digest of what is stored already it is 200, and the body is not wanted', async () => {
      const upload = await api().begun(payloadOf(2));
      const last = upload.payload.subarray(PART);
      const headers = { 'Content-Digest': `md5=:AAAAAAAAAAAAAAAAAAAAAA==:, ${digestOf(last)}` };
      expect((await api().send(upload, 2, headers)).status).toBe(200);
      const told = async (more: Record<string, string>, body: string) => {
        const socket = await openSocket(service.api.baseUrl);
        const owner = { 'X-Owner-Token': upload.ownerToken, 'Content-Length': '1000' };
        socket.write(requestHead(`POST /api/parts/${upload.id}/2`, { ...headers, ...owner, ...more }) + body);
        const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
        socket.destroy();
        return answer.slice(0, 'HTTP/1.1 200'.length);
      };
      expect(await told({}, 'some bytes')).toBe('HTTP/1.1 200');
      // Only a service in the gateway's own process is asked before the client is told to go on.
      expect(await told({ Expect: '100-continue' }, '')).toBe(`HTTP/1.1 ${service.shape === 'all' ? 200 : 100}`);
    });

    test('of an upload whose length is not known a part may be shorter, as long as it is the last', async () => {
      const most = { 'X-Upload-Length': undefined, 'X-Upload-Length-Max': String(10 * PART) };
      const upload = await api().begun(payloadOf(3), most);
      for (const number of [1, 2, 3]) expect((await api().send(upload, number)).status).toBe(200);
      const long = await api().put(upload.id, 3, upload.ownerToken, Buffer.alloc(PART + 1));
      expect([long.status, long.body.details]).toEqual([400, { 'Content-Length': [`must be from 1 to ${PART}`] }]);
      const { ownerToken, payload, id } = upload;
      const wrong = await api().complete(id, ownerToken, { length: payload.length + 1 });
      expect([wrong.status, wrong.body]).toEqual([409, { error: 'Parts are missing', missing: '3' }]);
      const short = await api().complete(id, ownerToken, { length: 2 * PART });
      expect([short.status, short.body.details]).toEqual([400, { length: ['must be that of all parts together'] }]);
      const beyond = await api().complete(id, ownerToken, { length: 10 * PART + 1 });
      expect(beyond.status).toBe(400);
      await completed(upload);
      expect((await service.api.info(id)).body.size).toBe(payload.length);
      const download = await service.api.download(id, upload.authToken);
      expect((download.body.bytes as Buffer).equals(payload)).toBe(true);
    });
  });

  describe('GET /api/parts/<id>', () => {
    test('200, 401, 404: what is stored, for its owner only, and after completion that it is complete', async () => {
      const upload = await api().begun(payloadOf(5));
      const { id, ownerToken, payload } = upload;
      for (const number of [1, 2, 4]) await api().send(upload, number);
      const open = await anyOf(1).state(id, ownerToken);
      expect([open.status, open.body]).toEqual([
        200,
        {
          state: 'open',
          partBytes: PART,
          length: payload.length,
          stored: '1-2,4',
          bytes: 3 * PART,
          endsAt: expect.any(String),
        },
      ]);
      expect([(await api().state(id, token())).status, (await api().state(id)).body]).toEqual([401, NO_OWNER]);
      expect((await api().state(unknownId, ownerToken)).body).toEqual(NOT_FOUND);
      const early = await api().complete(id, ownerToken, { length: payload.length });
      expect([early.status, early.body]).toEqual([409, { error: 'Parts are missing', missing: '3,5' }]);
      for (const number of [3, 5]) await api().send(upload, number);
      await completed(upload);
      const { length } = payload;
      expect((await api().state(id, ownerToken)).body).toEqual({ state: 'complete', length, bytes: length });
      expect((await api().state(id, token())).status).toBe(401);
      expect((await api().send(upload, 1)).body).toEqual(NOT_FOUND);
    });
  });

  describe('POST /api/parts/<id>/complete', () => {
    test('200 again when it is repeated, for its owner; its metadata is what came first', async () => {
      const upload = await api().begun(payloadOf(1));
      await api().send(upload, 1);
      await completed(upload);
      const other = { encryptedMeta: 'b3RoZXI=', nonce: 'b3RoZXI=' };
      const again = await anyOf(1).complete(upload.id, upload.ownerToken, { length: 1_000, ...other });
      expect([again.status, again.body.id]).toEqual([200, upload.id]);
      expect((await service.api.info(upload.id)).body).toMatchObject(META);
      expect((await api().complete(upload.id, token(), { length: 1_000 })).body).toEqual(NO_OWNER);
      expect((await service.api.setMeta(upload.id, upload.ownerToken)).status).toBe(409);
    });

    test('without metadata they are set afterwards', async () => {
      const upload = await api().begun(payloadOf(1));
      await api().send(upload, 1);
      expect((await api().complete(upload.id, upload.ownerToken, { length: 1_000 })).status).toBe(200);
      expect((await service.api.setMeta(upload.id, upload.ownerToken)).status).toBe(200);
    });

    test.each<[string, unknown, string]>([
      ['no length', {}, 'length'],
      ['another length than was declared', { length: 999 }, 'length'],
      ['a nonce alone', { length: 1_000, nonce: 'bm9uY2U=' }, 'encryptedMeta'],
      ['metadata without a nonce', { length: 1_000, encryptedMeta: 'bm9uY2U=' }, 'nonce'],
    ])('400: %s', async (_, body, field) => {
      const upload = await api().begun(payloadOf(1));
      await api().send(upload, 1);
      const answer = await api().complete(upload.id, upload.ownerToken, body);
      expect([answer.status, Object.keys(answer.body.details as object)]).toEqual([400, [field]]);
    });

    test('401, 404 and 410', async () => {
      const upload = await api().begun(payloadOf(1), { 'X-Max-Downloads': '1' });
      await api().send(upload, 1);
      expect((await api().complete(upload.id, token(), { length: 1_000 })).body).toEqual(NO_OWNER);
      expect((await api().complete(unknownId, upload.ownerToken, { length: 1_000 })).body).toEqual(NOT_FOUND);
      await completed(upload);
      await service.api.download(upload.id, upload.authToken);
      const used = await api().complete(upload.id, upload.ownerToken, { length: 1_000 });
      expect([used.status, used.body]).toEqual([410, { error: 'Upload expired or download limit reached' }]);
    });
  });

  describe('DELETE /api/parts/<id>', () => {
    test('200, 401, 404: for its owner, then it is unknown everywhere, and nothing is left of it', async () => {
      const upload = await api().begun(payloadOf(2));
      const { id, ownerToken } = upload;
      await api().send(upload, 1);
      for (const wrong of [token(), undefined]) expect((await api().cancel(id, wrong)).body).toEqual(NO_OWNER);
      const answer = await anyOf(1).cancel(id, ownerToken);
      expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
      expect((await api().cancel(id, ownerToken)).body).toEqual(NOT_FOUND);
      expect((await api().send(upload, 2)).body).toEqual(NOT_FOUND);
      expect((await api().state(id, ownerToken)).body).toEqual(NOT_FOUND);
      expect((await api().complete(id, ownerToken, { length: upload.payload.length })).body).toEqual(NOT_FOUND);
      expect((await service.running.blobs.names()).filter((name) => name.includes(id))).toEqual([]);
    });
  });

  describe('GET /api/arrival/<id>', () => {
    test('200, 404: how far an announced upload is, for anybody; of others nobody hears', async () => {
      const [told, secret] = [
        await api().begun(payloadOf(2), { 'X-Announce': 'true' }),
        await api().begun(payloadOf(2)),
      ];
      await api().send(told, 1);
      const { payload, id } = told;
      const answer = await anyOf(1).arrival(id);
      const endsAt = expect.any(String);
      expect([answer.status, answer.body]).toEqual([
        200,
        { state: 'arriving', length: payload.length, storedBytes: PART, endsAt },
      ]);
      expect((await service.api.info(id)).body).toEqual(NOT_FOUND);
      await api().send(told, 2);
      await completed(told);
      for (const other of [secret.id, id, unknownId, 'x']) expect((await api().arrival(other)).body).toEqual(NOT_FOUND);
    });
  });

  test('no answer shows a header that is between the gateway and its services', async () => {
    const [one, other] = [await api().begun(payloadOf(1)), await api().begun(randomBytes(1_000))];
    await api().send(one, 1);
    const answers = [await completed(one), await api().cancel(other.id, other.ownerToken)];
    for (const { headers } of answers)
      expect(Object.keys(headers).filter((name) => name.startsWith('x-mayfly'))).toEqual([]);
  });
});

describeEachShape('uploads in parts that are switched off', { UPLOAD_SESSION_SEC: '0' }, (service) => {
  test.each([
    ['POST', '/api/parts'],
    ['GET', '/api/parts'],
    ['POST', `/api/parts/${unknownId}/1`],
    ['GET', `/api/parts/${unknownId}`],
    ['DELETE', `/api/parts/${unknownId}`],
    ['POST', `/api/parts/${unknownId}/complete`],
    ['GET', `/api/arrival/${unknownId}`],
  ] as const)('%s %s is no path', async (method, path) => {
    const answer = await call(method, service.api.baseUrl + path);
    expect([answer.status, answer.body, answer.headers.allow]).toEqual([404, { error: 'Not Found' }, undefined]);
  });

  test('config does not name them', async () => {
    const { body } = await call('GET', `${service.api.baseUrl}/api/config`);
    expect(body).not.toHaveProperty('uploadParts');
  });
});
