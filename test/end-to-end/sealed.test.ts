import { argon2Sync, createDecipheriv, hkdfSync } from 'node:crypto';
import { MayflyClient, newLease, parseAddress, parseLink, type Source, type UnfinishedUpload } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { query } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { type Answer, type Api, call, META, PASSWORD_HEADERS, token, unknownId } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { PartsApi, payloadOf } from '../support/parts.ts';

const SHARE = Buffer.alloc(32, 5).toString('base64url');
const OTHER_SHARE = Buffer.alloc(32, 6).toString('base64url');
const GONE = { error: 'Upload expired or download limit reached' };
const MAX = 20;
/** So that a thousand guesses take a moment. Nobody else can open what is made with it. */
const COST = { argon2id: { memoryKiB: 8, passes: 1 }, pbkdf2: { iterations: 1 } };

const unlock = (api: Api, id: string, json: unknown, headers = {}) =>
  call('POST', `${api.baseUrl}/api/unlock/${id}`, { json, headers });

const PLAIN = { label: 'mayfly v1 metadata key', purpose: 'mayfly v1 metadata' };
const SEALED = { label: 'mayfly v2 sealed metadata key', purpose: 'mayfly v2 sealed metadata' };

/** What anybody with the link can try: whether some password opens the metadata, with all that the service has told. */
async function attack(link: string, passwords: string[], answers: Answer[]): Promise<string | undefined> {
  const { secret } = await parseLink(link);
  const info = answers[0]?.body as Record<string, string>;
  const told = answers.flatMap(({ text }) => [...text.matchAll(/"([\w+/=-]{16,64})"/g)].map(([, value = '']) => value));
  const sealedWith = [...new Set([...told, 'A'.repeat(43)])].map((salt) => ({ salt, ...SEALED }));
  const ways = [{ salt: info.salt ?? '', ...PLAIN }, ...sealedWith];
  const opens = (key: Buffer, purpose: string) => {
    const bytes = Buffer.from(info.encryptedMeta ?? '', 'base64');
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(info.nonce ?? '', 'base64'));
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-16));
    try {
      decipher.update(bytes.subarray(0, -16));
      decipher.final();
      return true;
    } catch {
      return false;
    }
  };
  const nonce = Buffer.from(info.passwordSalt ?? '', 'base64url');
  return passwords.find((password) => {
    const message = Buffer.from(password.normalize('NFC'));
    const key = argon2Sync('argon2id', { message, nonce, parallelism: 1, tagLength: 32, memory: 8, passes: 1 });
    const real = Buffer.from(secret.map((byte, index) => byte ^ (key[index] ?? 0)));
    return ways.some(({ salt, label, purpose }) =>
      opens(Buffer.from(hkdfSync('sha256', real, Buffer.from(salt, 'base64url'), label, 32)), purpose),
    );
  });
}

describeEachShape(
  'sealed metadata',
  {
    CLEANUP_INTERVAL_SEC: '1',
    EXPIRE_OPTIONS_SEC: '1,3600',
    TOKEN_FAILURES_MAX: String(MAX),
    TRUST_PROXY: '1',
    LOG_LEVEL: 'trace',
  },
  (service) => {
    const other = () => service.replicas.at(-1) ?? service.api;
    const client = () =>
      new MayflyClient({ baseUrl: service.api.baseUrl, transport: nodeTransport(), unsafePasswordCost: COST });
    const file: Source = { name: 'secret name.txt', size: 5, stream: () => new Blob(['hello']).stream() };
    const terms = { expireSec: 3600, maxDownloads: 2 };

    async function sealed(changes: Record<string, string> = {}) {
      const item = await service.api.newUpload({ ...PASSWORD_HEADERS, ...changes });
      const answer = await service.api.setMeta(item.id, item.ownerToken, { ...META, share: SHARE });
      expect([answer.status, answer.body]).toEqual([200, { ok: true, isSealed: true }]);
      return item;
    }

    const storedShare = async (id: string) =>
      (await query(service.running.databaseUrl, `select state, meta_share from files.uploads where id = '${id}'`))[0];

    describe('POST /api/unlock/<id>', () => {
      test('200 and 401, as often as wanted: nothing is counted', async () => {
        const { id, authToken } = await sealed();
        for (let round = 0; round < 3; round += 1) {
          expect(await unlock(other(), id, { authToken })).toMatchObject({ status: 200, body: { share: SHARE } });
          const wrong = await unlock(service.api, id, { authToken: token() });
          expect([wrong.status, wrong.body]).toEqual([401, { error: 'Invalid password' }]);
        }
        expect((await service.api.info(id)).body.downloadCount).toBe(0);
      });

      test('400: nothing is sealed', async () => {
        const plain = await service.api.newUpload(PASSWORD_HEADERS);
        await service.api.setMeta(plain.id, plain.ownerToken);
        const open = await service.api.newUpload();
        await service.api.setMeta(open.id, open.ownerToken, { ...META, share: SHARE });
        for (const { id, authToken } of [plain, open, await service.api.newUpload(PASSWORD_HEADERS)]) {
          const answer = await unlock(service.api, id, { authToken });
          expect([answer.status, answer.body]).toEqual([400, { error: 'Upload has no sealed metadata' }]);
        }
      });

      test('400: no auth token in the body', async () => {
        const { id } = await sealed();
        for (const json of [{}, { authToken: '' }, { authToken: 5 }, { authToken: null }, 'token', null, []]) {
          const answer = await unlock(service.api, id, json);
          expect(answer.status).toBe(400);
          expect(answer.body).toMatchObject({ error: 'Invalid request', details: expect.any(Object) });
        }
      });

      test('404: unknown upload', async () => {
        for (const id of [unknownId, 'none']) {
          expect(await unlock(service.api, id, { authToken: token() })).toMatchObject({
            status: 404,
            body: { error: 'Upload not found' },
          });
        }
      });

      test('410: expired and used up, and the share is erased with everything else', async () => {
        const [old, used] = [await sealed({ 'X-Expire-Sec': '1' }), await sealed({ 'X-Max-Downloads': '1' })];
        await service.api.download(used.id, used.authToken);
        const answer = await unlock(service.api, used.id, { authToken: used.authToken });
        expect([answer.status, answer.body]).toEqual([410, GONE]);
        await untilTrue(
          async () => (await unlock(other(), old.id, { authToken: old.authToken })).status === 410,
          60_000,
        );
        const expired = await unlock(service.api, old.id, { authToken: old.authToken });
        expect([expired.status, expired.body]).toEqual([410, { error: 'Upload expired' }]);
        for (const { id } of [old, used]) {
          await untilTrue(async () => (await storedShare(id))?.state !== 'available', 60_000);
          expect((await storedShare(id))?.meta_share).toBeNull();
        }
      });

      test('200: whoever goes on with the last download, and nobody else; 400 for a lease that is none', async () => {
        const { id, authToken } = await sealed({ 'X-Max-Downloads': '1' });
        const lease = { 'X-Download-Lease': newLease() };
        const read = { headers: { ...lease, 'X-Auth-Token': authToken, Range: 'bytes=0-9' } };
        expect((await call('GET', `${service.api.baseUrl}/api/lease/${id}`, read)).status).toBe(206);
        expect(await unlock(other(), id, { authToken }, lease)).toMatchObject({ status: 200, body: { share: SHARE } });
        expect((await unlock(other(), id, { authToken: token() }, lease)).status).toBe(401);
        expect((await unlock(other(), id, { authToken })).status).toBe(410);
        expect((await unlock(other(), id, { authToken }, { 'X-Download-Lease': newLease() })).status).toBe(410);
        expect((await unlock(other(), id, { authToken }, { 'X-Download-Lease': 'none' })).status).toBe(400);
      });

      test('429: wrong passwords count here and at the password check together, per client', async () => {
        const { id, authToken } = await sealed();
        const from = (address: string) => ({ 'X-Forwarded-For': address });
        const check = (authToken: string, headers: Record<string, string>) =>
          call('POST', `${other().baseUrl}/api/password/${id}`, { json: { authToken }, headers });
        for (let guess = 0; guess < MAX; guess += 1) {
          const wrong = { authToken: token() };
          const answer =
            guess % 2 === 0
              ? await unlock(service.api, id, wrong, from('192.0.2.7'))
              : await check(wrong.authToken, from('192.0.2.7'));
          expect(answer.status).toBe(401);
        }
        expect((await unlock(service.api, id, { authToken }, from('192.0.2.7'))).status).toBe(429);
        expect((await check(authToken, from('192.0.2.7'))).status).toBe(429);
        expect((await unlock(service.api, id, { authToken }, from('192.0.2.8'))).status).toBe(200);
      });
    });

    test('a share is stored once, with the metadata', async () => {
      const item = await service.api.newUpload(PASSWORD_HEADERS);
      await service.api.setMeta(item.id, item.ownerToken, { ...META, share: SHARE });
      const second = { ...META, share: OTHER_SHARE };
      expect((await service.api.setMeta(item.id, item.ownerToken, second)).status).toBe(409);
      const { authToken } = item;
      expect((await unlock(service.api, item.id, { authToken })).body).toEqual({ share: SHARE });
    });

    test.each([[''], ['short'], [5], [null], [[SHARE]], [`${SHARE}A`]])(
      'what is no share is ignored in a request of the contract, as every field that it does not name: %j',
      async (share) => {
        const { id, ownerToken, authToken } = await service.api.newUpload(PASSWORD_HEADERS);
        const answer = await service.api.setMeta(id, ownerToken, { ...META, share });
        expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
        expect((await unlock(service.api, id, { authToken })).status).toBe(400);
      },
    );

    test('an upload in parts brings its share when it is completed, also when that is repeated', async () => {
      const parts = new PartsApi(service.api);
      const upload = await parts.begun(payloadOf(1), PASSWORD_HEADERS);
      await parts.send(upload, 1);
      const { id, ownerToken, authToken, url, payload } = upload;
      const body = { length: payload.length, ...META };
      expect((await parts.complete(id, ownerToken, { ...body, share: 'short' })).status).toBe(400);
      for (const share of [SHARE, OTHER_SHARE]) {
        const answer = await parts.complete(id, ownerToken, { ...body, share });
        expect([answer.status, answer.body]).toEqual([200, { id, url, isSealed: true }]);
      }
      expect((await unlock(other(), id, { authToken })).body).toEqual({ share: SHARE });
    });

    test('no answer but that of the unlocking, and no log, has the share', async () => {
      const { id, authToken, ownerToken } = await sealed();
      const lease = newLease();
      const reading = { headers: { 'X-Auth-Token': authToken, 'X-Download-Lease': lease } };
      const answers = [
        await service.api.info(id),
        await service.api.exists(id),
        await service.api.checkPassword(id, authToken),
        await service.api.download(id, authToken),
        await call('GET', `${service.api.baseUrl}/api/lease/${id}`, reading),
        await call('GET', `${service.api.baseUrl}/api/lease/${id}/info`, { headers: { 'X-Download-Lease': lease } }),
        await call('GET', `${service.api.baseUrl}/api/own/upload/${id}`, { headers: { 'X-Owner-Token': ownerToken } }),
        await unlock(service.api, id, { authToken: token() }),
      ];
      await unlock(service.api, id, { authToken });
      const logs = service.running.processes.map(({ output }) => output()).join('\n');
      expect(logs).toContain('"route":"/api/unlock/:id"');
      const bytes = Buffer.from(SHARE, 'base64url');
      for (const form of [SHARE, bytes.toString('base64'), bytes.toString('hex')]) {
        for (const { text, headers } of answers) expect(text + JSON.stringify(headers)).not.toContain(form);
        expect(logs).not.toContain(form);
      }
    });

    test.each([{ inParts: false }, { inParts: true }])(
      'is opened by whoever has link and password: %o',
      async (how) => {
        const { sealedMetadata, uploadParts, downloadLeases } = await client().getConfig();
        expect(sealedMetadata).toBe(true);
        const options = { ...terms, ...how, uploadParts, sealedMetadata, password: 'right' };
        const { link } = await client().uploadFiles([file], options);
        expect((await parseLink(link)).protection).toEqual({ passwordAlgo: 'argon2id', isSealed: true });
        expect((await client().getInfo(link)).metadata).toBeUndefined();
        await expect(client().download(link)).rejects.toMatchObject({ code: 'password-needed' });
        await expect(client().download(link, { password: 'wrong' })).rejects.toMatchObject({ code: 'wrong-password' });
        const opened = await client().checkPassword(link, 'right');
        expect((await client().getInfo(opened)).metadata?.files).toMatchObject([{ name: file.name, size: 5 }]);
        const whole = await client().download(link, { password: 'right' });
        expect(await new Response(whole.payload as ReadableStream<Uint8Array<ArrayBuffer>>).text()).toBe('hello');
        const content = await client().openContent(link, { password: 'right', downloadLeases });
        expect(content.metadata.files[0]?.name).toBe(file.name);
        expect((await service.api.info(parseAddress(link).id)).body.downloadCount).toBe(1);
      },
    );

    test('an upload that was interrupted has the same share when it is resumed', async () => {
      const { sealedMetadata, uploadParts } = await client().getConfig();
      const stop = new AbortController();
      let unfinished: UnfinishedUpload | undefined;
      const uploading = client().uploadFiles([file], {
        ...terms,
        inParts: true,
        uploadParts,
        sealedMetadata,
        password: 'right',
        signal: stop.signal,
        onUnfinished(kept) {
          unfinished = kept;
          stop.abort();
        },
      });
      await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
      if (!unfinished) throw new Error('nothing was kept');
      const { link } = await client().resumeUpload(unfinished, [file]);
      expect(link).toBe(unfinished.link);
      const opened = await client().checkPassword(link, 'right');
      expect((await client().getInfo(opened)).metadata?.files[0]?.name).toBe(file.name);
      expect(Buffer.from(opened.share ?? []).toString('base64url')).toBe(unfinished.share);
    });

    test('without a password nothing is sealed, nor is a note', async () => {
      const open = await client().uploadFiles([file], { ...terms, sealedMetadata: true });
      const note = await client().createNote('text', { expireSec: 3600, maxViews: 1, password: 'right' });
      for (const { link } of [open, note]) expect((await parseLink(link)).protection?.isSealed).toBe(false);
    });

    test('of a thousand passwords none can be tested with the link and all that the service tells', async () => {
      const passwords = Array.from({ length: 1_000 }, (_, index) => `password ${index}`);
      const sent = { ...terms, password: 'password 777' };
      const [plain, sealed] = [
        await client().uploadFiles([file], sent),
        await client().uploadFiles([file], { ...sent, sealedMetadata: true }),
      ];
      const answersOf = async (id: string) => [
        await service.api.info(id),
        await service.api.exists(id),
        await call('GET', `${service.api.baseUrl}/api/config`),
        await unlock(service.api, id, { authToken: token() }),
        await service.api.checkPassword(id, token()),
        await service.api.download(id, token()),
      ];
      const answers = await answersOf(sealed.id);
      expect(await attack(sealed.link, passwords, answers)).toBeUndefined();
      // The same attacker finds it without the seal, and with what only the right password is answered.
      expect(await attack(plain.link, passwords, await answersOf(plain.id))).toBe('password 777');
      const { share } = await client().checkPassword(sealed.link, 'password 777');
      const text = JSON.stringify({ share: Buffer.from(share ?? []).toString('base64url') });
      expect(await attack(sealed.link, passwords, [...answers, { text } as Answer])).toBe('password 777');
    }, 240_000);
  },
);

describeEachShape('sealed metadata, not offered', { SEALED_METADATA: 'no' }, (service) => {
  test('config does not name it; what is sealed all the same can be unlocked', async () => {
    expect((await call('GET', `${service.api.baseUrl}/api/config`)).body).not.toHaveProperty('sealedMetadata');
    const { id, ownerToken, authToken } = await service.api.newUpload(PASSWORD_HEADERS);
    await service.api.setMeta(id, ownerToken, { ...META, share: SHARE });
    expect((await unlock(service.api, id, { authToken })).body).toEqual({ share: SHARE });
  });
});
