import { randomBytes, randomUUID } from 'node:crypto';
import type { Hooks } from '@mayfly/store/hooks';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresNotes } from '@mayfly/store/postgres/notes';
import { postgresNoteNotices, postgresRequestNotices, postgresUploadNotices } from '@mayfly/store/postgres/notices';
import { postgresOwnedNotes } from '@mayfly/store/postgres/owned-items';
import { pushSubscription } from '@mayfly/testing/push-subscription';
import { type Receiver, startReceiver } from '@mayfly/testing/receiver';
import { freshDatabase } from '@mayfly/testing/stores';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import webPush from 'web-push';
import { noticeSender } from '../src/notices/send.ts';
import { startNotices } from '../src/notices/start-notices.ts';

// What is sent, to whom, and what becomes of it, on a real PostgreSQL and over TLS.

const logger = pino({ level: 'silent' });
const vapid = webPush.generateVAPIDKeys();
const secret = `whsec_${randomBytes(24).toString('base64')}`;
const PATIENT = { timeout: 30_000 };

let stack: AsyncDisposableStack;
let db: ReturnType<typeof openDatabase>;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase({ hasTables: true }));
  db = stack.use(openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 10 }, logger));
});
afterEach(() => stack.disposeAsync());

const outboxes = () => ({
  upload: postgresUploadNotices(db),
  note: postgresNoteNotices(db),
  request: postgresRequestNotices(db),
});
const waiting = () => outboxes().note.waiting();
const hurry = () => sql`update notes.notices set due_at = now() - interval '1 second'`.execute(db);
const attempts = async () =>
  (await sql<{ attempts: number }>`select attempts from notes.notices order by attempts`.execute(db)).rows.map(
    (row) => row.attempts,
  );

/** The janitor's part of it. `timeoutMs`: for those that must give up. */
function start(receivers: Receiver[], options: { timeoutMs?: number } = {}) {
  const hosts = receivers.map(({ port }) => `127.0.0.1:${port}`);
  const send = noticeSender({
    webhookHosts: hosts,
    pushHosts: hosts,
    pushKeys: { ...vapid, contact: 'mailto:operator@mayfly.example' },
    networks: ['127.0.0.1'],
    names: async () => [],
    ca: receivers.map(({ ca }) => ca).join(''),
    ...options,
  });
  return startNotices({ outboxes: outboxes(), send, logger });
}

/** A note with hooks that was viewed so often. */
async function viewed(hooks: Hooks, times = 1): Promise<string> {
  const [notes, id] = [postgresNotes(db), randomUUID()];
  const bytes = Buffer.alloc(32);
  const content = { encryptedContent: 'AAAA', nonce: 'AAAA', contentType: 'text' as const, salt: 's' };
  await notes.add({ id, authHash: bytes, ownerHash: bytes, ...content, maxViews: 1_000, expireSec: 3_600 });
  expect(await postgresOwnedNotes(db).setHooks(id, hooks)).toBe(true);
  for (let i = 0; i < times; i++) await notes.claimView(id);
  return id;
}
const webhook = ({ port, url }: Receiver, key = 'key-of-mine'): Hooks => ({
  webhook: { host: `127.0.0.1:${port}`, url: `${url}/hook`, secret, key },
});

describe('notices', () => {
  test('a webhook gets what Standard Webhooks describes, once, and no id of the item', async () => {
    await using receiver = await startReceiver();
    await using _ = start([receiver]);
    const id = await viewed(webhook(receiver));
    await expect.poll(waiting, PATIENT).toBe(0);
    const [got, ...more] = receiver.received;
    expect(more).toEqual([]);
    const text = got?.body.toString() ?? '';
    const headers = got?.headers as Record<string, string>;
    expect(new Webhook(secret).verify(text, headers)).toEqual({
      type: 'note.viewed',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/),
      data: { key: 'key-of-mine' },
    });
    expect(() => new Webhook(secret).verify(`${text} `, headers)).toThrow();
    expect(JSON.stringify(got?.headers) + text).not.toContain(id);
    expect(got?.body.length).toBeLessThan(2_048);
  });

  test('a browser gets a message that only it can read, from the service that it knows', async () => {
    await using receiver = await startReceiver();
    receiver.manner = 201;
    await using _ = start([receiver]);
    const browser = pushSubscription();
    const id = await viewed({
      push: { host: `127.0.0.1:${receiver.port}`, endpoint: `${receiver.url}/push`, ...browser.keys, key: 'local-key' },
    });
    await expect.poll(waiting, PATIENT).toBe(0);
    const [got, ...more] = receiver.received;
    expect(more).toEqual([]);
    expect(browser.decrypt(got?.body ?? Buffer.of())).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      event: 'note.viewed',
      key: 'local-key',
    });
    expect(got?.headers).toMatchObject({ 'content-encoding': 'aes128gcm', urgency: 'normal' });
    expect(Number(got?.headers.ttl)).toBeGreaterThan(0);
    const [, token = '', key] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(got?.headers.authorization ?? '') ?? [];
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect([key, claims]).toEqual([
      vapid.publicKey,
      { aud: receiver.url, sub: 'mailto:operator@mayfly.example', exp: expect.any(Number) },
    ]);
    expect(JSON.stringify(got)).not.toContain(id);
  });

  test('what fails is tried again under the same id; a replica more changes nothing', async () => {
    await using receiver = await startReceiver();
    receiver.manner = ({ body }) => (body.length > 0 && receiver.received.length < 4 ? 500 : 204);
    await using _ = start([receiver]);
    await using __ = start([receiver]);
    await viewed(webhook(receiver));
    for (let attempt = 1; attempt < 4; attempt++) {
      await expect.poll(attempts, PATIENT).toEqual([attempt]);
      await expect.poll(() => receiver.received.length, PATIENT).toBe(attempt);
      await hurry();
    }
    await expect.poll(waiting, PATIENT).toBe(0);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    for (const { body, headers } of receiver.received) {
      new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
    }
  });

  test('of many notices each is sent once, whoever sends it', async () => {
    await using receiver = await startReceiver();
    await using _ = start([receiver]);
    await using __ = start([receiver]);
    await viewed(webhook(receiver), 100);
    await expect.poll(waiting, { timeout: 60_000 }).toBe(0);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([100, 100]);
  });

  test('receivers that hang, drip or never end keep nobody else, and what they were to be told stays', async () => {
    await using hanging = await startReceiver();
    await using dripping = await startReceiver();
    await using flooding = await startReceiver();
    await using good = await startReceiver();
    hanging.manner = 'hang';
    dripping.manner = 'drip';
    flooding.manner = 'flood';
    for (const receiver of [hanging, dripping, flooding]) await viewed(webhook(receiver), 40);
    await viewed(webhook(good), 40);
    // So long that whoever waits for them is seen waiting.
    await using _ = start([hanging, dripping, flooding, good], { timeoutMs: 600_000 });
    await expect.poll(() => good.received.length, PATIENT).toBe(40);
    await expect.poll(() => flooding.received.length, PATIENT).toBe(40); // it was told; the rest is not read
    await expect.poll(waiting, PATIENT).toBe(80);
    expect([hanging.connections, dripping.connections]).toEqual([16, 16]);
  });

  test('after a while it is given up, and tried again later', async () => {
    await using dripping = await startReceiver();
    dripping.manner = 'drip';
    await using _ = start([dripping], { timeoutMs: 1_000 });
    await viewed(webhook(dripping));
    await expect.poll(() => dripping.received.length, PATIENT).toBe(1);
    dripping.manner = 200;
    await hurry();
    await expect.poll(waiting, PATIENT).toBe(0);
  });

  test('410 ends the hook and what was still to be told there', async () => {
    await using receiver = await startReceiver();
    receiver.manner = 410;
    const id = await viewed(webhook(receiver), 3);
    await using _ = start([receiver]);
    await expect.poll(waiting, PATIENT).toBe(0);
    await expect.poll(async () => (await postgresOwnedNotes(db).find(id))?.hookCount, PATIENT).toBe(0);
  });

  test('a key that no browser has is dropped in the end, and keeps nobody', async () => {
    await using receiver = await startReceiver();
    await using _ = start([receiver]);
    const bad = { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth: Buffer.alloc(16).toString('base64url') };
    const host = `127.0.0.1:${receiver.port}`;
    await viewed({ push: { host, endpoint: receiver.url, ...bad, key: 'k' } });
    await viewed(webhook(receiver));
    await expect.poll(() => receiver.received.length, PATIENT).toBe(1);
    for (let attempt = 1; attempt <= 6; attempt++) {
      await expect.poll(attempts, PATIENT).toEqual([attempt]);
      await hurry();
    }
    await expect.poll(waiting, PATIENT).toBe(0);
    expect(receiver.received.length).toBe(1);
  });

  test('while PostgreSQL is away nothing is sent twice, and afterwards it goes on', async () => {
    await using receiver = await startReceiver();
    await using _ = start([receiver]);
    await sql`alter table notes.notices rename to away`.execute(db);
    await sql`select pg_sleep(1.5)`.execute(db); // a look in vain
    await sql`alter table notes.away rename to notices`.execute(db);
    await viewed(webhook(receiver));
    await expect.poll(waiting, PATIENT).toBe(0);
    expect(receiver.received.length).toBe(1);
  });
});
