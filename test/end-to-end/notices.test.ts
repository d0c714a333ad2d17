import { createECDH, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pushSubscription } from '@mayfly/testing/push-subscription';
import { type Received, startReceiver } from '@mayfly/testing/receiver';
import { replaceableRedis } from '@mayfly/testing/replaceable-redis';
import { startReady } from '@mayfly/testing/shapes';
import { freshDatabase, freshFolder } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, test } from 'vitest';
import { Api, call, token, unknownId } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { runCli } from '../support/mayfly-cli.ts';

// The certificate of the receiver is believed by the processes of the service alone.
const receiver = await startReceiver();
const host = `127.0.0.1:${receiver.port}`;
const certificates = join(tmpdir(), `mayfly-receiver-${process.pid}.pem`);
writeFileSync(certificates, receiver.ca);
afterAll(async () => {
  rmSync(certificates);
  await receiver[Symbol.asyncDispose]();
});

const pushKeys = createECDH('prime256v1');
pushKeys.generateKeys();
const SETTINGS = {
  WEBHOOK_HOSTS: `${host},hooks.example`,
  PUSH_HOSTS: host,
  PUSH_PUBLIC_KEY: pushKeys.getPublicKey('base64url'),
  PUSH_PRIVATE_KEY: Buffer.from(pushKeys.getPrivateKey('hex').padStart(64, '0'), 'hex').toString('base64url'),
  PUSH_CONTACT: 'mailto:operator@mayfly.example',
  NOTICE_NETWORKS: '127.0.0.1',
  NODE_EXTRA_CA_CERTS: certificates,
};

type Kind = 'upload' | 'note';
type Owned = { id: string; ownerToken: string };
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const webhook = (key: string) => ({ webhook: { url: `${receiver.url}/${key}`, secret, key } });
const asOwner = (ownerToken: string | undefined): Record<string, string> =>
  ownerToken ? { 'X-Owner-Token': ownerToken } : {};
const hooks = (api: Api, kind: Kind, id: string, ownerToken: string | undefined, json: unknown) =>
  call('POST', `${api.baseUrl}/api/own/${kind}/${id}/hooks`, { json, headers: asOwner(ownerToken) });
const end = (api: Api, kind: Kind, id: string, ownerToken?: string) =>
  call('DELETE', `${api.baseUrl}/api/own/${kind}/${id}/hooks`, { headers: asOwner(ownerToken) });
const status = (api: Api, kind: Kind, id: string, ownerToken: string) =>
  call('GET', `${api.baseUrl}/api/own/${kind}/${id}`, { headers: asOwner(ownerToken) });
const told = (key: string): Received[] => receiver.received.filter(({ path }) => path === `/${key}`);
const types = (key: string) => told(key).map(({ body }) => JSON.parse(body.toString()).type);

describeEachShape('notices', SETTINGS, (service) => {
  const other = () => service.replicas.at(-1) ?? service.api;
  const upload = (changes = {}) => service.api.newUpload(changes);
  const note = (changes = {}) => service.api.newNote(changes);
  const set = (kind: Kind) => (item: Owned, json: unknown) => hooks(other(), kind, item.id, item.ownerToken, json);

  const BAD: [string, unknown][] = [
    ['nothing', {}],
    ['no https', { webhook: { ...webhook('k').webhook, url: `http://${host}/` } }],
    ['another host', { webhook: { ...webhook('k').webhook, url: 'https://elsewhere.example/' } }],
    ['credentials', { webhook: { ...webhook('k').webhook, url: 'https://me:secret@hooks.example/' } }],
    ['a number', { webhook: { ...webhook('k').webhook, url: `https://2130706433:${receiver.port}/` } }],
    ['no secret', { webhook: { url: `https://${host}/`, key: 'k' } }],
    ['a short secret', { webhook: { ...webhook('k').webhook, secret: 'whsec_AAAA' } }],
    ['a bad key', { webhook: { ...webhook('k').webhook, key: 'a name.txt' } }],
    ['no push service', { push: { endpoint: 'https://elsewhere.example/', keys: pushSubscription().keys, key: 'k' } }],
    ['half a browser', { push: { endpoint: `https://${host}/`, keys: { auth: 'x' }, key: 'k' } }],
  ];
  const refusesBadHooks = async (kind: Kind, item: Owned) => {
    for (const [what, json] of BAD) {
      const answer = await set(kind)(item, json);
      expect([what, answer.status, answer.body.error]).toEqual([what, 400, 'Invalid request']);
    }
    expect((await status(other(), kind, item.id, item.ownerToken)).body.hooks).toBe(0);
  };

  test('config says what can be told', async () => {
    const { body } = await call('GET', `${service.api.baseUrl}/api/config`);
    expect(body.notices).toEqual({ pushKey: SETTINGS.PUSH_PUBLIC_KEY, webhooks: true });
  });

  test('at the command line an address is told of a note, of an upload that was sent before, and not any more', async () => {
    await using folder = await freshFolder();
    const env = { MAYFLY_SERVER: service.running.baseUrl, XDG_DATA_HOME: join(folder.path, 'data') };
    const cli = (...args: string[]) => runCli(args, { cwd: folder.path, env });
    const read = async (...args: string[]) => {
      const { code, out, err } = await cli(...args, '--json');
      expect([args[0], code, err.includes('mayfly:')]).toEqual([args[0], 0, false]);
      return JSON.parse(out);
    };
    const keysToldBy = (path: string) => told(path).map(({ body }) => JSON.parse(body.toString()).data.key);

    const path = token();
    const note = await read('note', 'a text', '--views', '2', '--notify', `${receiver.url}/${path}`);
    expect(note.notify).toMatchObject({ url: `${receiver.url}/${path}`, secret: expect.stringMatching(/^whsec_/) });
    expect((await cli('get', note.link)).code).toBe(0);
    await untilTrue(() => told(path).length >= 1, 30_000);
    expect(keysToldBy(path)).toEqual([note.notify.key]);
    const [got] = told(path);
    new Webhook(note.notify.secret).verify(got?.body.toString() ?? '', got?.headers as Record<string, string>);

    writeFileSync(join(folder.path, 'plan.txt'), 'the plan');
    const [upload, later] = [await read('send', 'plan.txt', '--downloads', '2'), token()];
    const { notify } = await read('notify', upload.id, `${receiver.url}/${later}`);
    expect((await cli('get', upload.link, '-o', join(folder.path, 'received'))).code).toBe(0);
    await untilTrue(() => told(later).length >= 2, 30_000);
    expect(keysToldBy(later)).toEqual([notify.key, notify.key]);
    expect(await read('notify', upload.id, '--off')).toMatchObject({ id: upload.id, notify: null });
    expect((await cli('notify', upload.id)).code).toBe(2);
    expect((await cli('notify', upload.id, 'http://hooks.example/')).code).toBe(2);

    const refused = await cli('note', 'a text', '--notify', 'https://elsewhere.example/');
    expect(refused.code).not.toBe(0);
    expect(refused.out).toContain('/n/'); // it is there all the same
  });

  describe('POST /api/own/upload/<id>/hooks', () => {
    test('200: downloads are told, and what arrived whole; the count of hooks is in the status', async () => {
      const [item, key] = [await upload({ 'X-Max-Downloads': '3' }), token()];
      expect((await set('upload')(item, webhook(key))).body).toMatchObject({ state: 'available', hooks: 1 });
      expect((await set('upload')(item, webhook(key))).body.hooks).toBe(1);
      expect((await service.api.download(item.id, item.authToken)).status).toBe(200);
      await untilTrue(() => types(key).length >= 2, 30_000);
      expect(types(key).sort()).toEqual(['upload.downloaded', 'upload.received']);
    });

    test('200: a lease is told when it begins, and when its recipient says that all arrived', async () => {
      const [item, key] = [await upload(), token()];
      await set('upload')(item, webhook(key));
      const lease = { 'x-auth-token': item.authToken, 'x-download-lease': token() };
      const url = `${other().baseUrl}/api/lease/${item.id}`;
      expect((await call('GET', url, { headers: lease })).status).toBe(200);
      await untilTrue(() => types(key).length >= 1, 30_000);
      expect((await call('DELETE', `${url}?whole=true`, { headers: lease })).status).toBe(200);
      await untilTrue(() => types(key).length >= 2, 30_000);
      expect(types(key)).toEqual(['upload.downloaded', 'upload.received']);
    });

    test('200: a browser is told, in a message that only it can read', async () => {
      const [item, key, browser] = [await note({ maxViews: 2 }), token(), pushSubscription()];
      const push = { endpoint: `${receiver.url}/${key}`, keys: browser.keys, key };
      expect((await set('note')(item, { push })).body.hooks).toBe(1);
      await service.api.view(item.id, item.authToken);
      await untilTrue(() => told(key).length >= 1, 30_000);
      expect(browser.decrypt(told(key)[0]?.body ?? Buffer.of())).toMatchObject({ event: 'note.viewed', key });
    });

    test('400: no hook, or one that is not allowed; it stays as it was', async () => {
      await refusesBadHooks('upload', await upload());
    });

    test('401: wrong or missing owner token', async () => {
      const { id, authToken } = await upload();
      for (const wrong of [undefined, token(), authToken]) {
        const answer = await hooks(service.api, 'upload', id, wrong, webhook('k'));
        expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid or missing owner token' }]);
      }
    });

    test('404: unknown', async () => {
      for (const unknown of [unknownId, 'x', (await note()).id]) {
        const answer = await hooks(service.api, 'upload', unknown, token(), webhook('k'));
        expect([answer.status, answer.body]).toEqual([404, { error: 'Upload not found' }]);
      }
    });

    test('410: it is over', async () => {
      const item = await upload({ 'X-Max-Downloads': '1' });
      await service.api.download(item.id, item.authToken);
      const answer = await set('upload')(item, webhook('k'));
      expect([answer.status, answer.body]).toEqual([410, { error: 'Upload expired or download limit reached' }]);
    });
  });

  describe('DELETE /api/own/upload/<id>/hooks', () => {
    test('200: nobody is told any more', async () => {
      const [item, key] = [await upload(), token()];
      await set('upload')(item, webhook(key));
      const answer = await end(other(), 'upload', item.id, item.ownerToken);
      expect([answer.status, answer.body.hooks]).toEqual([200, 0]);
      expect((await end(other(), 'upload', item.id, item.ownerToken)).body.hooks).toBe(0);
    });

    test('401: wrong or missing owner token', async () => {
      const { id, authToken } = await upload();
      for (const wrong of [undefined, token(), authToken]) {
        const answer = await end(service.api, 'upload', id, wrong);
        expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid or missing owner token' }]);
      }
    });

    test('404: unknown', async () => {
      const answer = await end(service.api, 'upload', unknownId, token());
      expect([answer.status, answer.body]).toEqual([404, { error: 'Upload not found' }]);
    });
  });

  describe('POST /api/own/note/<id>/hooks', () => {
    test('200: views are told, repeated ones once; the last one as well', async () => {
      const [item, key] = [await note({ maxViews: 2 }), token()];
      expect((await set('note')(item, webhook(key))).body).toMatchObject({ state: 'available', hooks: 1 });
      const view = (headers: Record<string, string> = {}) =>
        call('POST', `${other().baseUrl}/api/note/${item.id}/view`, { json: { authToken: item.authToken }, headers });
      const repeated = { 'Idempotency-Key': token() };
      for (const headers of [repeated, repeated, {}]) expect((await view(headers)).status).toBe(200);
      await untilTrue(() => types(key).length >= 2, 30_000);
      expect(types(key)).toEqual(['note.viewed', 'note.viewed']);
    });

    test('400: no hook, or one that is not allowed; it stays as it was', async () => {
      await refusesBadHooks('note', await note());
    });

    test('401: wrong or missing owner token', async () => {
      const { id, authToken } = await note();
      for (const wrong of [undefined, token(), authToken]) {
        const answer = await hooks(service.api, 'note', id, wrong, webhook('k'));
        expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid owner token' }]);
      }
    });

    test('404: unknown', async () => {
      const answer = await hooks(service.api, 'note', unknownId, token(), webhook('k'));
      expect([answer.status, answer.body]).toEqual([404, { error: 'Note not found' }]);
    });

    test('410: it is over', async () => {
      const item = await note({ maxViews: 1 });
      await service.api.view(item.id, item.authToken);
      const answer = await set('note')(item, webhook('k'));
      expect([answer.status, answer.body]).toEqual([410, { error: 'View limit reached' }]);
    });
  });

  describe('DELETE /api/own/note/<id>/hooks', () => {
    test('200: nobody is told any more', async () => {
      const item = await note();
      await set('note')(item, webhook(token()));
      const answer = await end(other(), 'note', item.id, item.ownerToken);
      expect([answer.status, answer.body.hooks]).toEqual([200, 0]);
    });

    test('401: wrong or missing owner token', async () => {
      const { id } = await note();
      const answer = await end(service.api, 'note', id, token());
      expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid owner token' }]);
    });

    test('404: unknown', async () => {
      const answer = await end(service.api, 'note', unknownId, token());
      expect([answer.status, answer.body]).toEqual([404, { error: 'Note not found' }]);
    });
  });
});

describeEachShape('without notices', {}, (service) => {
  test('their paths are none, and neither config nor a status names them', async () => {
    const [upload, note] = [await service.api.newUpload(), await service.api.newNote()];
    for (const [kind, { id, ownerToken }] of [
      ['upload', upload],
      ['note', note],
    ] as const) {
      for (const answer of [
        await hooks(service.api, kind, id, ownerToken, webhook('k')),
        await end(service.api, kind, id, ownerToken),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'Not Found' }]);
      }
      expect((await status(service.api, kind, id, ownerToken)).body).not.toHaveProperty('hooks');
    }
    expect((await call('GET', `${service.api.baseUrl}/api/config`)).body).not.toHaveProperty('notices');
  });
});

describe('notices whose senders are killed', () => {
  test('kill -9 in the middle of a request, and Redis emptied: each is told at least once, under one id', {
    timeout: 240_000,
  }, async () => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await freshDatabase({ hasTables: true }));
    const redis = stack.use(await replaceableRedis());
    const env = { ...SETTINGS, DATABASE_URL: database.url, REDIS_URL: redis.url, BLOB_DIR: tmpdir() };
    const notes = await startReady(stack, 'notes', env);
    const api = new Api(notes.url);
    const [key, times] = [token(), 5];
    const item = await api.newNote({ maxViews: times });
    const before = receiver.manner;
    receiver.manner = ({ path }) => (path === `/${key}` ? 'hang' : 200);
    stack.defer(() => {
      receiver.manner = before;
    });
    expect((await hooks(api, 'note', item.id, item.ownerToken, webhook(key))).status).toBe(200);
    for (let view = 0; view < times; view++) await api.view(item.id, item.authToken);

    const first = await startReady(stack, 'janitor', env);
    await untilTrue(() => told(key).length >= times, 60_000); // all are under way, and none is answered
    await first.stop('SIGKILL');
    await redis.kill();
    await redis.start();
    receiver.manner = 200;
    const killedAt = told(key).length;
    const client = new pg.Client(database.url);
    await client.connect();
    stack.defer(() => client.end());
    const left = async () => (await client.query('select attempts from notes.notices')).rows;
    expect(await left()).toHaveLength(times);
    await client.query("update notes.notices set due_at = now() - interval '1 second'"); // a minute later
    await startReady(stack, 'janitor', env);
    await untilTrue(async () => (await left()).length === 0, 60_000);
    const ids = (all: Received[]) => all.map(({ headers }) => headers['webhook-id']).sort();
    expect(ids(told(key).slice(killedAt))).toEqual([...new Set(ids(told(key).slice(0, killedAt)))]);
    expect(told(key)).toHaveLength(killedAt + times);
  });
});
