import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { Api, call, token, unknownId } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { RequestsApi, requestBody } from '../support/requests.ts';

const invalid = (name: string) => ({ error: 'Invalid request', details: { [name]: expect.any(Array) } });
const error = (sentence: string) => ({ error: sentence });
const HOOK = {
  webhook: { url: 'https://hooks.example/', secret: `whsec_${Buffer.alloc(24).toString('base64')}`, key: 'mine' },
};

describeEachShape(
  'requests for files',
  {
    REQUEST_DROP_OPTIONS: '1,5,10,100',
    REQUEST_EXPIRE_OPTIONS_SEC: '1,3600',
    EXPIRE_OPTIONS_SEC: '2,3600',
    WEBHOOK_HOSTS: 'hooks.example',
    TOMBSTONE_TTL_SEC: '60',
  },
  (service) => {
    const requests = () => new RequestsApi(service.api);
    const everywhere = () => service.replicas.map((api) => new RequestsApi(api));

    describe('POST /api/request', () => {
      test('201 with its page and its end; config says what may be asked for', async () => {
        const { requests: limits } = (await call('GET', `${service.api.baseUrl}/api/config`)).body;
        expect(limits).toMatchObject({ dropOptions: [1, 5, 10, 100], maxBytes: 20 * 1024 ** 3 });
        const before = Date.now();
        const { id, url, expiresAt } = await requests().ask();
        expect(url).toBe(`${service.api.baseUrl}/r/${id}`);
        expect(Math.abs(Date.parse(expiresAt) - before - 3_600_000)).toBeLessThan(60_000);
      });

      test('400 for what is missing or no option', async () => {
        for (const [name, value] of [
          ['publicKey', undefined],
          ['publicKey', Buffer.alloc(1_215).toString('base64')],
          ['publicKey', `${'A'.repeat(1_621)}B==`],
          ['ownerToken', ''],
          ['maxDrops', 7],
          ['maxDrops', '5'],
          ['maxBytes', 0],
          ['maxBytes', 20 * 1024 ** 3 + 1],
          ['dropExpireSec', 61],
          ['dropMaxDownloads', 0],
          ['expireSec', 5],
          ['greeting', Buffer.alloc(4_097).toString('base64')],
          ['greeting', undefined],
          ['nonce', undefined],
          ['nonce', 'AAAA'],
        ] as const) {
          const answer = await requests().create(requestBody({ [name]: value }));
          expect([answer.status, answer.body], `${name}: ${value}`).toEqual([400, invalid(name)]);
        }
        expect((await requests().create(requestBody({ greeting: undefined, nonce: undefined }))).status).toBe(201);
      });

      test('413 for a body above 16 KiB', async () => {
        const answer = await requests().create(requestBody({ more: 'x'.repeat(17 * 1024) }));
        expect([answer.status, answer.body]).toEqual([413, error('Payload Too Large')]);
      });
    });

    describe('GET /api/request/<id>', () => {
      test('200 with the key, the greeting and the room that is left, on any replica', async () => {
        const { id, publicKey, greeting, nonce, expiresAt } = await requests().ask();
        const upload = await requests().upload(1_000);
        expect((await requests().drop(id, upload)).status).toBe(200);
        for (const replica of everywhere()) {
          const { status, body } = await replica.info(id.toUpperCase());
          expect(status).toBe(200);
          expect(body).toEqual({
            publicKey,
            greeting,
            nonce,
            maxDrops: 5,
            dropsLeft: 4,
            maxBytes: 1_000_000,
            bytesLeft: 999_000,
            dropExpireSec: 3_600,
            dropMaxDownloads: 1,
            expiresAt,
          });
        }
        const plain = await requests().ask({ greeting: undefined, nonce: undefined });
        expect((await requests().info(plain.id)).body).toMatchObject({ greeting: null, nonce: null });
      });

      test('404 for what nobody asked for', async () => {
        for (const id of [unknownId, 'none']) {
          const answer = await requests().info(id);
          expect([answer.status, answer.body]).toEqual([404, error('Request not found')]);
        }
      });

      test('410 when it has expired', async () => {
        const { id } = await requests().ask({ expireSec: 1 });
        await sleep(1_100);
        const answer = await requests().info(id);
        expect([answer.status, answer.body]).toEqual([410, error('Request has expired')]);
      });
    });

    describe('POST /api/request/<id>/drop', () => {
      test('200, and again 200 for the same upload, which is counted once and stays as it was', async () => {
        const { id, ownerToken } = await requests().ask();
        const upload = await requests().upload(1_000);
        for (let time = 0; time < 3; time++) {
          const answer = await requests().drop(id, upload);
          expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
        }
        const { body } = await requests().drops(id, ownerToken);
        expect(body).toMatchObject({ state: 'open', dropsLeft: 4, bytesLeft: 999_000 });
        expect(body.drops).toHaveLength(1);
        expect(body.drops[0]).toMatchObject({ uploadId: upload.id, bytes: 1_000, available: true });
      });

      test('400 for what is missing or too long', async () => {
        const { id } = await requests().ask();
        const upload = await requests().upload();
        for (const [name, value] of [
          ['uploadId', 'none'],
          ['enc', undefined],
          ['enc', Buffer.alloc(2_049).toString('base64')],
          ['sealed', ''],
          ['sealed', Buffer.alloc(257).toString('base64')],
        ] as const) {
          const answer = await requests().drop(id, upload, { [name]: value });
          expect([answer.status, answer.body], `${name}: ${value}`).toEqual([400, invalid(name)]);
        }
      });

      test('401 with a token of something else', async () => {
        const request = await requests().ask();
        const { id } = await requests().upload();
        for (const ownerToken of [token(), request.ownerToken, undefined]) {
          const answer = await requests().drop(request.id, { id, ...(ownerToken ? { ownerToken } : {}) });
          expect([answer.status, answer.body]).toEqual([401, error('Invalid or missing owner token')]);
        }
      });

      test('404 for a request, and for an upload, that is not there', async () => {
        const { id } = await requests().ask();
        const upload = await requests().upload();
        const [noRequest, noUpload] = [
          await requests().drop(unknownId, upload),
          await requests().drop(id, { ...upload, id: unknownId }),
        ];
        expect([noRequest.status, noRequest.body]).toEqual([404, error('Request not found')]);
        expect([noUpload.status, noUpload.body]).toEqual([404, error('Upload not found')]);
      });

      test('409 for an upload without its metadata', async () => {
        const { id } = await requests().ask();
        const answer = await requests().drop(id, await service.api.newUpload());
        expect([answer.status, answer.body]).toEqual([409, error('Metadata is not set')]);
      });

      test('410 when it is full, has not enough room, or has expired, or the upload has gone', async () => {
        const full = await requests().ask({ maxDrops: 1 });
        const first = await requests().upload();
        expect((await requests().drop(full.id, first)).status).toBe(200);
        const small = await requests().ask({ maxBytes: 999 });
        const brief = await requests().ask({ expireSec: 1 });
        await sleep(1_100);
        const upload = await requests().upload(1_000);
        for (const [id, sentence] of [
          [full.id, 'Request is full'],
          [small.id, 'Request has not enough room left'],
          [brief.id, 'Request has expired'],
        ] as const) {
          const answer = await requests().drop(id, upload);
          expect([answer.status, answer.body]).toEqual([410, error(sentence)]);
        }
        const gone = await requests().upload();
        for (const _ of [1, 2]) expect((await service.api.download(gone.id, gone.authToken)).status).toBe(200);
        const { id } = await requests().ask();
        const answer = await requests().drop(id, gone);
        expect([answer.status, answer.body]).toEqual([410, error('Upload expired or download limit reached')]);
        expect((await requests().drop(full.id, first)).status).toBe(200); // it was told to somebody who had no answer
      });

      test('413 for a body above 4 KiB', async () => {
        const { id } = await requests().ask();
        const answer = await requests().drop(id, await requests().upload(), { more: 'x'.repeat(5_000) });
        expect([answer.status, answer.body]).toEqual([413, error('Payload Too Large')]);
      });

      test('of a hundred at once over all replicas ten are dropped into a request for ten', async () => {
        const { id, ownerToken } = await requests().ask({ maxDrops: 10 });
        const uploads = await Promise.all(Array.from({ length: 100 }, () => requests().upload(100)));
        const answers = await Promise.all(
          uploads.map((upload, index) => everywhere()[index % everywhere().length]?.drop(id, upload)),
        );
        const statuses = answers.map((answer) => answer?.status);
        expect(statuses.filter((status) => status === 200)).toHaveLength(10);
        expect(statuses.filter((status) => status === 410)).toHaveLength(90);
        const { body } = await requests().drops(id, ownerToken);
        expect(body).toMatchObject({ state: 'full', dropsLeft: 0, bytesLeft: 999_000 });
        const dropped = uploads.filter((_, index) => statuses[index] === 200).map((upload) => upload.id);
        expect(body.drops.map(({ uploadId }) => uploadId).sort()).toEqual(dropped.sort());
      });

      test('of many at once no more bytes than there is room for', async () => {
        const { id, ownerToken } = await requests().ask({ maxDrops: 100, maxBytes: 2_500 });
        const uploads = await Promise.all(Array.from({ length: 20 }, () => requests().upload(500)));
        const answers = await Promise.all(uploads.map((upload) => requests().drop(id, upload)));
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
        expect((await requests().drops(id, ownerToken)).body).toMatchObject({ state: 'full', bytesLeft: 0 });
      });
    });

    describe('GET /api/request/<id>/drops', () => {
      test('200 with what was sent, in its order, and what is still there', async () => {
        const { id, ownerToken } = await requests().ask();
        const uploads = [await requests().upload(10), await requests().upload(20)] as const;
        const sealed = [Buffer.alloc(49, 1), Buffer.alloc(49, 2)].map((bytes) => bytes.toString('base64'));
        for (const [index, upload] of uploads.entries()) {
          await requests().drop(id, upload, { enc: 'AQID', sealed: sealed[index] });
        }
        await service.api.deleteUpload(uploads[0].id, uploads[0].ownerToken);
        for (const replica of everywhere()) {
          const { status, body } = await replica.drops(id, ownerToken);
          expect(status).toBe(200);
          expect(body.drops).toEqual([
            {
              uploadId: uploads[0].id,
              enc: 'AQID',
              sealed: sealed[0],
              bytes: 10,
              at: expect.any(String),
              available: false,
            },
            {
              uploadId: uploads[1].id,
              enc: 'AQID',
              sealed: sealed[1],
              bytes: 20,
              at: expect.any(String),
              available: true,
            },
          ]);
          expect(body.drops[0]?.at).toMatch(/:00\.000Z$/);
        }
      });

      test('200 also when it has expired, until its last drop has', async () => {
        const { id, ownerToken } = await requests().ask({ expireSec: 1, dropExpireSec: 2 });
        await requests().drop(id, await requests().upload());
        await sleep(1_500);
        expect((await requests().drops(id, ownerToken)).body).toMatchObject({
          state: 'expired',
          drops: [{ bytes: 1_000 }],
        });
        await untilTrue(async () => (await requests().drops(id, ownerToken)).body.drops?.length === 0, 20_000);
        const rows = await query(service.running.databaseUrl, 'select * from files.requests where id = $1', [id]);
        expect(rows[0]).toMatchObject({ state: 'expired', public_key: null, greeting: null, nonce: null });
        expect((await requests().info(id)).status).toBe(410);
      });

      test('401 with a wrong token', async () => {
        const { id } = await requests().ask();
        for (const ownerToken of [token(), undefined]) {
          const answer = await requests().drops(id, ownerToken);
          expect([answer.status, answer.body]).toEqual([401, error('Invalid or missing owner token')]);
        }
      });

      test('404 for what nobody asked for', async () => {
        const answer = await requests().drops(unknownId, token());
        expect([answer.status, answer.body]).toEqual([404, error('Request not found')]);
      });
    });

    describe('DELETE /api/request/<id>', () => {
      test('200, and nothing is left of it; the uploads stay', async () => {
        const { id, ownerToken } = await requests().ask();
        const upload = await requests().upload();
        await requests().drop(id, upload);
        const answer = await requests().remove(id, ownerToken);
        expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
        expect((await requests().info(id)).status).toBe(404);
        expect((await service.api.download(upload.id, upload.authToken)).status).toBe(200);
        const left = 'select request_id from files.request_drops where request_id = $1';
        expect(await query(service.running.databaseUrl, left, [id])).toEqual([]);
      });

      test('401 with a wrong token, 404 for what is not there, 413 for a body above 4 KiB', async () => {
        const { id } = await requests().ask();
        const wrong = await requests().remove(id, token());
        expect([wrong.status, wrong.body]).toEqual([401, error('Invalid or missing owner token')]);
        const none = await requests().remove(unknownId, token());
        expect([none.status, none.body]).toEqual([404, error('Request not found')]);
        const large = await call('DELETE', `${service.api.baseUrl}/api/request/${id}`, { body: 'x'.repeat(5_000) });
        expect(large.status).toBe(413);
        expect((await requests().info(id)).status).toBe(200);
      });
    });

    describe('POST /api/own/request/<id>/hooks', () => {
      test('200 with how many are told', async () => {
        const { id, ownerToken } = await requests().ask();
        const answer = await requests().setHooks(id, ownerToken, HOOK);
        expect([answer.status, answer.body]).toMatchObject([200, { hooks: 1, state: 'open' }]);
        await requests().drop(id, await requests().upload());
        const told = 'select event, kind from files.request_notices where item_id = $1';
        expect(await query(service.running.databaseUrl, told, [id])).toEqual([{ event: 'dropped', kind: 'webhook' }]);
        const ended = await requests().endHooks(id, ownerToken);
        expect([ended.status, ended.body]).toMatchObject([200, { hooks: 0 }]);
        expect(await query(service.running.databaseUrl, told, [id])).toEqual([]);
      });

      test('400 for a host that is not allowed, 401, 404, 410 and 413 as elsewhere', async () => {
        const { id, ownerToken } = await requests().ask({ expireSec: 1 });
        const elsewhere = { webhook: { ...HOOK.webhook, url: 'https://other.example/' } };
        expect((await requests().setHooks(id, ownerToken, elsewhere)).status).toBe(400);
        expect((await requests().setHooks(id, token(), HOOK)).status).toBe(401);
        expect((await requests().setHooks(unknownId, token(), HOOK)).status).toBe(404);
        expect((await requests().setHooks(id, ownerToken, { ...HOOK, more: 'x'.repeat(5_000) })).status).toBe(413);
        await sleep(1_100);
        expect((await requests().setHooks(id, ownerToken, HOOK)).status).toBe(410);
      });
    });

    describe('DELETE /api/own/request/<id>/hooks', () => {
      test('200 without any, 401 with a wrong token, 404 for what is not there', async () => {
        const { id, ownerToken } = await requests().ask();
        expect((await requests().endHooks(id, ownerToken)).status).toBe(200);
        expect((await requests().endHooks(id, token())).status).toBe(401);
        expect((await requests().endHooks(unknownId, token())).status).toBe(404);
      });
    });
  },
);

describeEachShape('requests for files switched off', { REQUESTS: 'no' }, (service) => {
  test('their paths are none, and config does not name them', async () => {
    const requests = new RequestsApi(service.api);
    const id = unknownId;
    const answers = [
      await requests.create(requestBody()),
      await requests.info(id),
      await requests.drop(id, { id, ownerToken: token() }),
      await requests.drops(id, token()),
      await requests.remove(id, token()),
    ];
    for (const { status, body } of answers) expect([status, body]).toEqual([404, error('Not Found')]);
    expect((await call('GET', `${new Api(service.running.baseUrl).baseUrl}/api/config`)).body).not.toHaveProperty(
      'requests',
    );
  });
});
