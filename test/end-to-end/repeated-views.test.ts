import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { inSuite } from '@mayfly/testing/in-suite';
import { type RunningShape, SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshDatabase, freshFolder, query } from '@mayfly/testing/stores';
import { openTriggeringProxy, type TriggeringProxy } from '@mayfly/testing/triggering-proxy';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { type Answer, Api, call, token } from '../support/api.ts';
import { undocumented } from '../support/documented.ts';
import { runCli } from '../support/mayfly-cli.ts';

// Contract 4.3: a client whose answer was lost asks again with the same Idempotency-Key. No sweep runs meanwhile.

const REPEAT_SEC = 60;
const USED_UP = { error: 'View limit reached' };
/** A part of the text of the statements that count views, with and without a key. */
const CLAIM = 'as "encryptedContent"';

type Site = AsyncDisposable & {
  running: RunningShape;
  replicas: Api[];
  toDatabase: TriggeringProxy;
  query(statement: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
};

async function openSite(shape: 'all' | 'split', settings: Record<string, string>): Promise<Site> {
  await using undo = new AsyncDisposableStack();
  const database = undo.use(await freshDatabase({ hasTables: true }));
  const toDatabase = undo.use(await openTriggeringProxy(database.url));
  const running = undo.use(
    await startShape(shape, { DATABASE_URL: toDatabase.url, CLEANUP_INTERVAL_SEC: '3600', ...settings }),
  );
  const stack = undo.move();
  return {
    running,
    replicas: running.baseUrls.map((url) => new Api(url)),
    toDatabase,
    query: (statement, values) => query(database.url, statement, values),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const ERASED = { encrypted_content: null, nonce: null, recent_views: null };

/** What the table still holds of a note. */
async function kept({ query }: Site, id: string) {
  return (await query('select encrypted_content, nonce, recent_views from notes.notes where id = $1', [id]))[0];
}

const newKey = () => `"${randomUUID()}"`;

/** POST /api/note/<id>/view, with a key unless it is undefined. */
const view = ({ baseUrl }: Api, id: string, authToken: string, key?: string): Promise<Answer> =>
  call('POST', `${baseUrl}/api/note/${id}/view`, {
    json: { authToken },
    ...(key === undefined ? {} : { headers: { 'Idempotency-Key': key } }),
  });

describe.each(SHAPES.filter((shape) => shape !== 'deployed'))('repeated views (%s)', (shape) => {
  const site = inSuite(() => openSite(shape, { VIEW_REPEAT_SEC: String(REPEAT_SEC) }));
  const api = () => new Api(site().running.baseUrl);

  const contentOf = (id: string) => kept(site(), id);

  /** The view is counted, and the connection on which PostgreSQL says so breaks. */
  async function viewWithLostAnswer(id: string, authToken: string, key?: string): Promise<Answer> {
    site().toDatabase.drop(); // the text of a prepared statement passes once per connection
    await untilTrue(async () => (await api().note(id)).status === 200);
    const lost = site().toDatabase.when(CLAIM, 'after', () => site().toDatabase.drop());
    const answer = view(api(), id, authToken, key);
    await lost;
    return answer;
  }

  test('the answer of the last view is lost on the way from PostgreSQL: its key gets the content, counted once', async () => {
    const note = await api().newNote({ maxViews: 1 });
    const key = newKey();
    const lost = await viewWithLostAnswer(note.id, note.authToken, key);
    expect([lost.status, lost.body]).toEqual([503, { error: 'Service unavailable' }]);
    expect((await api().note(note.id)).body).toEqual(USED_UP);
    const { encryptedContent, nonce } = note;
    for (const replica of site().replicas) {
      const answer = await view(replica, note.id, note.authToken, key);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ encryptedContent, nonce, viewCount: 1, maxViews: 1 });
    }
  });

  test('without a key it is 410, as it was', async () => {
    const note = await api().newNote({ maxViews: 1 });
    expect((await viewWithLostAnswer(note.id, note.authToken)).status).toBe(503);
    const again = await view(api(), note.id, note.authToken);
    expect([again.status, again.body]).toEqual([410, USED_UP]);
    expect(await contentOf(note.id)).toEqual(ERASED);
  });

  test('the answer is lost between gateway and client: the same body once more', async () => {
    await using proxy = await openTriggeringProxy(site().running.baseUrl);
    const note = await api().newNote({ maxViews: 1 });
    const key = newKey();
    const lost = proxy.when('/view', 'after', () => proxy.drop());
    const far = new Api(`http://127.0.0.1:${proxy.port}`);
    await Promise.all([lost, expect(view(far, note.id, note.authToken, key)).rejects.toThrow()]);
    const { encryptedContent, nonce } = note;
    const answer = await view(far, note.id, note.authToken, key);
    expect(answer.body).toEqual({ encryptedContent, nonce, viewCount: 1, maxViews: 1 });
  });

  test('of 50 requests with one key at once one counts, and all get the same answer', async () => {
    for (const maxViews of [1, 5]) {
      const note = await api().newNote({ maxViews });
      const key = newKey();
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          view(site().replicas[i % site().replicas.length] ?? api(), note.id, note.authToken, key),
        ),
      );
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]?.body).toMatchObject({ viewCount: 1, encryptedContent: note.encryptedContent });
      const now = await api().note(note.id);
      expect(maxViews === 1 ? now.body : now.body.viewCount).toEqual(maxViews === 1 ? USED_UP : 1);
    }
  });

  test('keys, and views without one, count each for themselves, 1 to N without a gap', async () => {
    const note = await api().newNote({ maxViews: 10 });
    const keys = Array.from({ length: 8 }, newKey);
    const asked = [...keys, ...keys, undefined, undefined, undefined, undefined];
    const answers = await Promise.all(
      asked.map((key, i) => view(site().replicas[i % site().replicas.length] ?? api(), note.id, note.authToken, key)),
    );
    const counts = (of: Answer[]) =>
      of.filter(({ status }) => status === 200).map(({ body }) => Number(body.viewCount));
    expect([...new Set(counts(answers))].sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, i) => i + 1));
    keys.forEach((_, i) => {
      expect(answers[i]?.text).toBe(answers[i + keys.length]?.text);
    });
    // All are taken: who has viewed with a key can still repeat it, and nobody else gets in.
    for (const [i, key] of keys.entries()) {
      const again = await view(api(), note.id, note.authToken, key);
      expect([again.status, again.text]).toEqual([answers[i]?.status, answers[i]?.text]);
    }
    expect((await view(api(), note.id, note.authToken, newKey())).body).toEqual(USED_UP);
    expect((await view(api(), note.id, note.authToken)).body).toEqual(USED_UP);
  });

  test('a repetition needs the auth token; without it a used-up note is 410 and others are 401', async () => {
    const used = await api().newNote({ maxViews: 1 });
    const left = await api().newNote({ maxViews: 2 });
    const key = newKey();
    for (const { id, authToken } of [used, left]) expect((await view(api(), id, authToken, key)).status).toBe(200);
    const wrong = await view(api(), used.id, token(), key);
    expect([wrong.status, wrong.body]).toEqual([410, USED_UP]);
    expect((await view(api(), left.id, token(), key)).status).toBe(401);
    expect((await view(api(), left.id, left.authToken, key)).body.viewCount).toBe(1); // a key belongs to one note
    expect((await view(api(), left.id, left.authToken, newKey())).body.viewCount).toBe(2);
  });

  test('a last view without a key erases in the same step', async () => {
    const note = await api().newNote({ maxViews: 1 });
    await view(api(), note.id, note.authToken);
    expect(await contentOf(note.id)).toEqual(ERASED);
  });

  test('the owner deletes: nothing is left to repeat', async () => {
    const note = await api().newNote({ maxViews: 1 });
    const key = newKey();
    await view(api(), note.id, note.authToken, key);
    expect((await api().deleteNote(note.id, note.ownerToken)).status).toBe(200);
    expect((await view(api(), note.id, note.authToken, key)).status).toBe(404);
    expect(await contentOf(note.id)).toBeUndefined();
  });

  test('the time of the note ends before that of a repetition', async () => {
    const note = await api().newNote({ maxViews: 1, expireSec: 2 });
    const key = newKey();
    expect((await view(api(), note.id, note.authToken, key)).status).toBe(200);
    await sleep(2_100);
    expect((await view(api(), note.id, note.authToken, key)).body).toEqual(USED_UP);
    await untilTrue(async () => (await contentOf(note.id))?.encrypted_content === null);
  });

  test.each([
    ['empty', ''],
    ['too short', '"0123456789abcde"'],
    ['too long', `"${'a'.repeat(129)}"`],
    ['without its last quote', '"0123456789abcdef0123'],
    ['with a character that no string has', `"0123456789abcdef${String.fromCharCode(0xfc)}"`],
    ['two keys', `${newKey()}, ${newKey()}`],
  ])('400: a key that is none: %s', async (_, key) => {
    const note = await api().newNote({ maxViews: 1 });
    const answer = await view(api(), note.id, note.authToken, key);
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'Invalid request', details: { 'Idempotency-Key': [expect.any(String)] } },
    ]);
    expect((await api().note(note.id)).body.viewCount).toBe(0);
  });

  test('a key is the same with and without quotes', async () => {
    const note = await api().newNote({ maxViews: 2 });
    const key = randomBytes(16).toString('base64url');
    const first = await view(api(), note.id, note.authToken, `"${key}"`);
    expect((await view(api(), note.id, note.authToken, key)).text).toBe(first.text);
  });

  test('clients are told by GET /api/config', async () => {
    const { body } = await call('GET', `${api().baseUrl}/api/config`);
    expect(body.viewRepeatSec).toBe(REPEAT_SEC);
  });

  test('the command line delivers a note whose answer was lost, and counts one view', async () => {
    await using folder = await freshFolder();
    await using proxy = await openTriggeringProxy(site().running.baseUrl);
    const client = new MayflyClient({ baseUrl: `http://127.0.0.1:${proxy.port}`, transport: nodeTransport() });
    const { id, link } = await client.createNote('delivered', { maxViews: 1, expireSec: 3600 });
    const [result] = await Promise.all([
      runCli(['get', link], { cwd: folder.path }),
      proxy.when('/view', 'after', () => proxy.drop()),
    ]);
    expect(result.out).toBe('delivered');
    expect(result.err).toBe('The answer did not arrive; trying again ...\nThat was its last view.\n');
    expect(result.code).toBe(0);
    expect((await site().query('select view_count from notes.notes where id = $1', [id]))[0]).toEqual({
      view_count: 1,
    });
  });

  test('every answer that this suite got is described in the API reference', async () => {
    const { checked, problems } = await undocumented(site().running.baseUrls);
    expect(problems).toEqual([]);
    expect(checked).toBeGreaterThan(0);
  });
});

test.each(['all', 'split'] as const)(
  'content and keys go when the time is over, without a sweep; then 410 (%s)',
  async (shape) => {
    const repeatSec = 5;
    await using site = await openSite(shape, { VIEW_REPEAT_SEC: String(repeatSec) });
    const api = new Api(site.running.baseUrl);
    const note = await api.newNote({ maxViews: 1 });
    const key = newKey();
    await view(api, note.id, note.authToken, key);
    const before = await kept(site, note.id);
    expect(before?.encrypted_content).toBe(note.encryptedContent);
    expect(JSON.stringify(before)).not.toContain(key.slice(1, -1));
    await untilTrue(async () => (await kept(site, note.id))?.encrypted_content === null, repeatSec * 1000 + 10_000);
    expect(await kept(site, note.id)).toEqual(ERASED);
    const late = await view(api, note.id, note.authToken, key);
    expect([late.status, late.body]).toEqual([410, USED_UP]);
  },
);

test('with VIEW_REPEAT_SEC=0 the header means nothing, whatever it holds', async () => {
  await using site = await openSite('all', { VIEW_REPEAT_SEC: '0' });
  const api = new Api(site.running.baseUrl);
  expect((await call('GET', `${api.baseUrl}/api/config`)).body).not.toHaveProperty('viewRepeatSec');
  const note = await api.newNote({ maxViews: 2 });
  for (const [key, count] of [
    ['nonsense', 1],
    ['nonsense', 2],
  ] as const) {
    expect((await view(api, note.id, note.authToken, key)).body.viewCount).toBe(count);
  }
  const rows = await site.query('select encrypted_content from notes.notes where id = $1', [note.id]);
  expect(rows).toEqual([{ encrypted_content: null }]);
});
