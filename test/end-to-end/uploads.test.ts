import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Answer, call, META, PASSWORD_HEADERS, token, unknownId, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const GONE = { error: 'Upload expired or download limit reached' };
const NOT_FOUND = { error: 'Upload not found' };
const BAD_AUTH = { error: 'Invalid or missing auth token' };
const BAD_OWNER = { error: 'Invalid or missing owner token' };

const expectAnswer = (answer: Answer, status: number, body: unknown) =>
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body });

describeEachShape('uploads', {}, (service) => {
  const { upload, expired, usedUp } = states();

  /** An upload in each of its states, made when asked for. */
  function states() {
    const usedUp = async (changes = {}) => {
      const item = await service.api.newUpload({ 'X-Max-Downloads': '1', ...changes });
      expect((await service.api.download(item.id, item.authToken)).status).toBe(200);
      return item;
    };
    const expired = async (changes = {}) => {
      const item = await service.api.newUpload({ 'X-Expire-Sec': '1', ...changes });
      await sleep(1_050);
      return item;
    };
    return { upload: (changes = {}) => service.api.newUpload(changes), expired, usedUp };
  }

  describe('POST /api/upload', () => {
    test('200: id is a lower-case UUID and url is the address of the page', async () => {
      const { id, url } = await upload();
      expect(id).toMatch(UUID);
      expect(url).toBe(`${service.running.baseUrl}/d/${id}`);
    });

    test('200: nothing but id and url is answered', async () => {
      const answer = await service.api.upload('x', uploadHeaders({ authToken: token(), ownerToken: token() }));
      expect(Object.keys(answer.body).sort()).toEqual(['id', 'url']);
      expect(answer.headers['cache-control']).toBe('no-store');
    });

    test.each(['text/plain', 'application/json', 'multipart/form-data', 'nonsense', ''])(
      'the body is bytes, whatever type it claims: "%s"',
      async (type) => {
        const tokens = { authToken: token(), ownerToken: token() };
        const payload = Buffer.from('{"not": parsed');
        const answer = await service.api.upload(payload, uploadHeaders(tokens, type ? { 'content-type': type } : {}));
        expect(answer.status).toBe(200);
        expect((await service.api.download(String(answer.body.id), tokens.authToken)).body.bytes).toEqual(payload);
      },
    );

    const required = [
      'X-Auth-Token',
      'X-Owner-Token',
      'X-Salt',
      'X-Max-Downloads',
      'X-Expire-Sec',
      'X-File-Count',
      'X-Has-Password',
    ];
    test.each(required)('400: %s is missing', async (name) => {
      await expectBadHeader(name, undefined);
    });

    const s16 = randomBytes(16);
    test.each([
      ['X-Auth-Token', 'not base64url!'],
      ['X-Auth-Token', 'ab+/'],
      ['X-Auth-Token', '===='],
      ['X-Auth-Token', 'a'.repeat(513)],
      ['X-Owner-Token', 'not base64url!'],
      ['X-Owner-Token', 'ab+/'],
      ['X-Salt', randomBytes(15).toString('base64url')],
      ['X-Salt', randomBytes(17).toString('base64url')],
      ['X-Salt', Buffer.alloc(16, 0xff).toString('base64')],
      ['X-Salt', s16.toString('hex')],
      ['X-Max-Downloads', '0'],
      ['X-Max-Downloads', '7'],
      ['X-Max-Downloads', '-1'],
      ['X-Max-Downloads', '1.0'],
      ['X-Max-Downloads', '01'],
      ['X-Max-Downloads', '1e0'],
      ['X-Max-Downloads', '0x1'],
      ['X-Max-Downloads', 'many'],
      ['X-Max-Downloads', '99999999999999999999'],
      ['X-Expire-Sec', '0'],
      ['X-Expire-Sec', '61'],
      ['X-Expire-Sec', 'soon'],
      ['X-File-Count', '0'],
      ['X-File-Count', '33'],
      ['X-File-Count', '-1'],
      ['X-File-Count', '1.5'],
      ['X-File-Count', 'one'],
      ['X-Has-Password', 'yes'],
      ['X-Has-Password', 'TRUE'],
      ['X-Has-Password', '1'],
    ])('400: %s is not acceptable: %s', async (name, value) => {
      await expectBadHeader(name, value);
    });

    test.each(['X-Password-Salt', 'X-Password-Algo'])('400: %s is missing with a password', async (name) => {
      await expectBadHeader(name, undefined, PASSWORD_HEADERS);
    });

    test.each([
      ['X-Password-Salt', randomBytes(15).toString('base64url')],
      ['X-Password-Algo', 'scrypt'],
      ['X-Password-Algo', 'ARGON2ID'],
    ])('400: %s is not acceptable with a password: %s', async (name, value) => {
      await expectBadHeader(name, value, PASSWORD_HEADERS);
    });

    test('400: every header at fault is named, with reasons', async () => {
      const answer = await service.api.upload('x', { 'X-Max-Downloads': '7' });
      expect(Object.keys(answer.body.details as object)).toEqual(expect.arrayContaining(required));
    });

    test('without a password its headers mean nothing', async () => {
      const { id } = await upload({ 'X-Password-Salt': '!', 'X-Password-Algo': 'none' });
      expect((await service.api.info(id)).body).toMatchObject({ passwordAlgo: null, passwordSalt: null });
    });

    test('400: an empty payload', async () => {
      const answer = await service.api.upload('', { ...validHeaders(), 'content-length': '0' });
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({
        error: 'Invalid request',
        details: { 'Content-Length': [expect.any(String)] },
      });
    });

    test('411: no Content-Length', async () => {
      const chunks = async function* () {
        yield Buffer.from('chunked');
      };
      const answer = await call('POST', `${service.api.baseUrl}/api/upload`, {
        headers: validHeaders(),
        body: chunks(),
      });
      expectAnswer(answer, 411, { error: expect.any(String) });
    });

    const validHeaders = () => uploadHeaders({ authToken: token(), ownerToken: token() });

    async function expectBadHeader(name: string, value: string | undefined, others: Record<string, string> = {}) {
      const tokens = { authToken: token(), ownerToken: token() };
      const answer = await service.api.upload('payload', uploadHeaders(tokens, { ...others, [name]: value }));
      expectAnswer(answer, 400, { error: 'Invalid request', details: { [name]: expect.any(Array) } });
      // A short one may be there by chance.
      if (value && value.length > 8) expect(answer.text).not.toContain(value);
    }
  });

  describe('GET /api/info/<id>', () => {
    test('200: the public representation, null where there is nothing', async () => {
      const salt = randomBytes(16).toString('base64url');
      const item = await upload({ 'X-Salt': salt, 'X-File-Count': '3', 'X-Max-Downloads': '5' });
      const answer = await service.api.info(item.id);
      expectAnswer(answer, 200, {
        id: item.id,
        size: item.payload.length,
        fileCount: 3,
        hasPassword: false,
        passwordAlgo: null,
        passwordSalt: null,
        salt,
        encryptedMeta: null,
        nonce: null,
        downloadCount: 0,
        maxDownloads: 5,
        expiresAt: expect.stringMatching(TIMESTAMP),
        createdAt: expect.stringMatching(TIMESTAMP),
      });
      expect(Date.parse(String(answer.body.expiresAt)) - Date.parse(String(answer.body.createdAt))).toBe(3_600_000);
    });

    test('200: with password and metadata', async () => {
      const item = await upload(PASSWORD_HEADERS);
      await service.api.setMeta(item.id, item.ownerToken);
      expect((await service.api.info(item.id)).body).toMatchObject({
        hasPassword: true,
        passwordAlgo: 'argon2id',
        passwordSalt: PASSWORD_HEADERS['X-Password-Salt'],
        ...META,
      });
    });

    test('200: padded base64url is accepted and answered without padding', async () => {
      const salt = randomBytes(16).toString('base64url');
      const item = await upload({ 'X-Salt': `${salt}==` });
      expect((await service.api.info(item.id)).body.salt).toBe(salt);
    });

    test('200: downloadCount counts downloads', async () => {
      const item = await upload();
      await service.api.download(item.id, item.authToken);
      expect((await service.api.info(item.id)).body).toMatchObject({ downloadCount: 1, maxDownloads: 2 });
    });

    test('200: an id in upper case finds the same upload', async () => {
      const { id } = await upload();
      expect((await service.api.info(id.toUpperCase())).body.id).toBe(id);
    });

    test('404: unknown upload', async () => {
      expectAnswer(await service.api.info(unknownId), 404, NOT_FOUND);
    });

    test('410: expired', async () => {
      expectAnswer(await service.api.info((await expired()).id), 410, GONE);
    });

    test('410: download limit reached', async () => {
      expectAnswer(await service.api.info((await usedUp()).id), 410, GONE);
    });
  });

  describe('GET /api/exists/<id>', () => {
    test('200, 404 and 410 with their bodies', async () => {
      expectAnswer(await service.api.exists((await upload()).id), 200, { exists: true });
      expectAnswer(await service.api.exists(unknownId), 404, { exists: false });
      expectAnswer(await service.api.exists('no-uuid'), 404, { exists: false });
      expectAnswer(await service.api.exists((await expired()).id), 410, { exists: false, reason: 'expired' });
      expectAnswer(await service.api.exists((await usedUp()).id), 410, { exists: false, reason: 'limit_reached' });
    });
  });

  describe('POST /api/meta/<id>', () => {
    test('200, then 409: metadata is set once and stays', async () => {
      const { id, ownerToken } = await upload();
      expectAnswer(await service.api.setMeta(id, ownerToken), 200, { ok: true });
      const other = { encryptedMeta: 'b3RoZXI=', nonce: 'b3RoZXI=' };
      expectAnswer(await service.api.setMeta(id, ownerToken, other), 409, { error: 'Metadata already set' });
      expect((await service.api.info(id)).body).toMatchObject(META);
    });

    test.each([
      ['no nonce', { encryptedMeta: 'YQ==' }, 'nonce'],
      ['no metadata', { nonce: 'YQ==' }, 'encryptedMeta'],
      ['empty metadata', { encryptedMeta: '', nonce: 'YQ==' }, 'encryptedMeta'],
      ['empty nonce', { encryptedMeta: 'YQ==', nonce: '' }, 'nonce'],
      ['base64url metadata', { encryptedMeta: '_-_-', nonce: 'YQ==' }, 'encryptedMeta'],
      ['unpadded metadata', { encryptedMeta: 'YQ', nonce: 'YQ==' }, 'encryptedMeta'],
      ['a number', { encryptedMeta: 5, nonce: 'YQ==' }, 'encryptedMeta'],
      ['null', { encryptedMeta: null, nonce: 'YQ==' }, 'encryptedMeta'],
      ['an array', ['YQ==', 'YQ=='], 'body'],
    ])('400: %s', async (_, body, field) => {
      const { id, ownerToken } = await upload();
      const answer = await service.api.setMeta(id, ownerToken, body);
      expectAnswer(answer, 400, { error: 'Invalid request', details: { [field]: expect.any(Array) } });
      expectAnswer(await service.api.setMeta(id, ownerToken), 200, { ok: true });
    });

    test('401: wrong, missing or the other token', async () => {
      const { id, authToken } = await upload();
      for (const wrong of [token(), undefined, authToken]) {
        expectAnswer(await service.api.setMeta(id, wrong), 401, BAD_OWNER);
      }
    });

    test('404: unknown upload', async () => {
      expectAnswer(await service.api.setMeta(unknownId, token()), 404, NOT_FOUND);
    });

    test('410: expired or used up', async () => {
      for (const item of [await expired(), await usedUp()]) {
        expectAnswer(await service.api.setMeta(item.id, item.ownerToken), 410, GONE);
      }
    });

    test('413: more than 256 KiB of JSON', async () => {
      const { id, ownerToken } = await upload();
      const body = (bytes: number) => ({
        ...META,
        rest: 'x'.repeat(bytes - JSON.stringify({ ...META, rest: '' }).length),
      });
      expectAnswer(await service.api.setMeta(id, ownerToken, body(256 * 1024 + 1)), 413, {
        error: 'Payload Too Large',
      });
      expectAnswer(await service.api.setMeta(id, ownerToken, body(256 * 1024)), 200, { ok: true });
    });
  });

  describe('POST /api/password/<id>', () => {
    test('200 and 401, as often as wanted: nothing is counted', async () => {
      const { id, authToken } = await upload(PASSWORD_HEADERS);
      for (let round = 0; round < 3; round++) {
        expectAnswer(await service.api.checkPassword(id, authToken), 200, { ok: true });
        expectAnswer(await service.api.checkPassword(id, token()), 401, { error: 'Invalid password' });
      }
      expect((await service.api.info(id)).body.downloadCount).toBe(0);
    });

    test('400: no password protects the upload', async () => {
      const body = { error: 'Upload is not password protected' };
      const item = await upload();
      expectAnswer(await service.api.checkPassword(item.id, item.authToken), 400, body);
      expectAnswer(await service.api.checkPassword((await usedUp()).id, item.authToken), 400, body);
    });

    test('400: no auth token in the body', async () => {
      const { id } = await upload(PASSWORD_HEADERS);
      for (const json of [{}, { authToken: '' }, { authToken: 5 }, { authToken: null }, 'token', null, []]) {
        const answer = await call('POST', `${service.api.baseUrl}/api/password/${id}`, { json });
        expect(answer.status).toBe(400);
        expect(answer.body).toMatchObject({ error: 'Invalid request', details: expect.any(Object) });
      }
    });

    test('404: unknown upload', async () => {
      expectAnswer(await service.api.checkPassword(unknownId, token()), 404, NOT_FOUND);
    });

    test('410: expired, and its own sentence when used up', async () => {
      const old = await expired(PASSWORD_HEADERS);
      expectAnswer(await service.api.checkPassword(old.id, old.authToken), 410, { error: 'Upload expired' });
      const used = await usedUp(PASSWORD_HEADERS);
      expectAnswer(await service.api.checkPassword(used.id, used.authToken), 410, GONE);
    });
  });

  describe('GET /api/download/<id>', () => {
    test('200: the payload with its headers', async () => {
      const payload = randomBytes(300_000);
      const item = await service.api.newUpload({ 'X-File-Count': '4' }, payload);
      const answer = await service.api.download(item.id, item.authToken);
      expect(answer.status).toBe(200);
      expect((answer.body.bytes as Buffer).equals(payload)).toBe(true);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': '300000',
        'cache-control': 'no-store',
        'x-file-count': '4',
      });
    });

    test('200: a Range is ignored, the whole body comes and counts once', async () => {
      const item = await upload();
      const answer = await call('GET', `${service.api.baseUrl}/api/download/${item.id}`, {
        headers: { 'X-Auth-Token': item.authToken, Range: 'bytes=0-9' },
      });
      expect([answer.status, (answer.body.bytes as Buffer).length]).toEqual([200, 1000]);
      expect((await service.api.info(item.id)).body.downloadCount).toBe(1);
    });

    test('401: wrong, missing, malformed or the other token, and nothing is counted', async () => {
      const { id, ownerToken } = await upload();
      for (const wrong of [token(), undefined, ownerToken, 'no token!', 'x'.repeat(4_000)]) {
        expectAnswer(await service.api.download(id, wrong), 401, BAD_AUTH);
      }
      expect((await service.api.info(id)).body.downloadCount).toBe(0);
    });

    test('404: unknown upload', async () => {
      expectAnswer(await service.api.download(unknownId, token()), 404, NOT_FOUND);
    });

    test('410: expired or used up, whatever the token', async () => {
      for (const item of [await expired(), await usedUp()]) {
        expectAnswer(await service.api.download(item.id, item.authToken), 410, GONE);
        expectAnswer(await service.api.download(item.id, token()), 410, GONE);
        expectAnswer(await service.api.download(item.id), 410, GONE);
      }
    });

    test('HEAD spends nothing', async () => {
      const item = await upload();
      const answer = await call('HEAD', `${service.api.baseUrl}/api/download/${item.id}`, {
        headers: { 'X-Auth-Token': item.authToken },
      });
      expect(answer.status).toBe(405);
      expect((await service.api.info(item.id)).body.downloadCount).toBe(0);
    });
  });

  describe('DELETE /api/upload/<id>', () => {
    test('200 in every state, then 404 everywhere', async () => {
      for (const item of [
        await upload(PASSWORD_HEADERS),
        await expired(PASSWORD_HEADERS),
        await usedUp(PASSWORD_HEADERS),
      ]) {
        expectAnswer(await service.api.deleteUpload(item.id, item.ownerToken), 200, { ok: true });
        expectAnswer(await service.api.info(item.id), 404, NOT_FOUND);
        expectAnswer(await service.api.exists(item.id), 404, { exists: false });
        expectAnswer(await service.api.checkPassword(item.id, item.authToken), 404, NOT_FOUND);
        expectAnswer(await service.api.download(item.id, item.authToken), 404, NOT_FOUND);
        expectAnswer(await service.api.setMeta(item.id, item.ownerToken), 404, NOT_FOUND);
        expectAnswer(await service.api.deleteUpload(item.id, item.ownerToken), 404, NOT_FOUND);
      }
    });

    test('200 after the sweep, too', async () => {
      const item = await usedUp();
      await sleep(2_500); // two sweeps; the lease of the download may still hold the blob
      expectAnswer(await service.api.deleteUpload(item.id, item.ownerToken), 200, { ok: true });
      expectAnswer(await service.api.exists(item.id), 404, { exists: false });
    });

    test('401: wrong, missing or the other token, and nothing is deleted', async () => {
      const { id, authToken } = await upload();
      for (const wrong of [token(), undefined, authToken]) {
        expectAnswer(await service.api.deleteUpload(id, wrong), 401, BAD_OWNER);
      }
      expectAnswer(await service.api.exists(id), 200, { exists: true });
    });

    test('404: unknown upload', async () => {
      expectAnswer(await service.api.deleteUpload(unknownId, token()), 404, NOT_FOUND);
    });

    test('the same token padded is the same token', async () => {
      const { id, ownerToken } = await upload();
      expectAnswer(await service.api.deleteUpload(id, `${ownerToken}=`), 200, { ok: true });
    });
  });

  test.each([
    'no-uuid',
    '..%2F..%2Fetc%2Fpasswd',
    '%2e%2e%2f%2e%2e',
    '%zz',
    '%00',
    'a'.repeat(3_000),
    `${randomUUID()}.bin`,
    `{${randomUUID()}}`,
    randomUUID().replaceAll('-', ''),
    "'%20or%201=1--",
  ])('404: an id that no upload can have: %s', async (id) => {
    expectAnswer(await service.api.info(id), 404, NOT_FOUND);
    expectAnswer(await service.api.exists(id), 404, { exists: false });
    expectAnswer(await service.api.download(id, token()), 404, NOT_FOUND);
    expectAnswer(await service.api.deleteUpload(id, token()), 404, NOT_FOUND);
    expectAnswer(await service.api.setMeta(id, token()), 404, NOT_FOUND);
    expectAnswer(await service.api.checkPassword(id, token()), 404, NOT_FOUND);
  });
});
