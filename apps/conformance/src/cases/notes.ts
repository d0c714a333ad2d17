import { randomBytes, randomUUID } from 'node:crypto';
import { skip } from '../case.ts';
import { answers, equal, isId, isInvalid, isTime, refuses } from '../expect.ts';
import { NOTE_PASSWORD, type ServerCase, type Site, serverCase, token, UNKNOWN } from '../site.ts';

const NOT_FOUND = 'Note not found';
const TYPES = ['text', 'password', 'code', 'markdown', 'sshkey'];
/** What the note's content may have beside noteMaxSize. */
const ENCRYPTION_BYTES = 256;
/** A larger note is not sent to somebody else's server. */
const LARGEST_SENT = 8 * 1024 * 1024;

/** Fields, each with values that are refused. */
const REFUSED: Record<string, unknown[]> = {
  encryptedContent: [undefined, '', 'base64url_only-', 7],
  nonce: [undefined, 'AAAA', randomBytes(13).toString('base64')],
  salt: [undefined, 'AAAA', 7],
  ownerToken: [undefined, '', 'not base64url!'],
  authToken: [undefined, 'a'.repeat(513)],
  contentType: [undefined, 'html', 'TEXT'],
  maxViews: [undefined, 0, '1', 1.5, 999999937],
  expireSec: [undefined, 0, '3600', 999999937],
  hasPassword: [undefined, 'false', 0],
};

const look = (site: Site, id: string) => site.send('GET', `/api/note/${id}`);
const check = (site: Site, id: string, authToken: unknown) =>
  site.send('POST', `/api/note/${id}/password`, { json: { authToken } });

/** Contract: section 4. */
export const notes: ServerCase[] = [
  serverCase('4.1', 'POST /api/note: 201 with an id and expiresAt', async (site) => {
    for (const contentType of TYPES) {
      const { id, expiresAt, ...rest } = (await site.note({ contentType })).answer;
      isId(id);
      isTime('expiresAt', expiresAt);
      equal('other fields', rest, {});
    }
  }),
  ...Object.entries(REFUSED).map(([field, values]) =>
    serverCase('4.1', `POST /api/note: 400 that names ${field}, for what it cannot be`, async (site) => {
      for (const value of values) isInvalid(await site.tryNote({ [field]: value }), field);
    }),
  ),
  serverCase('4.1', 'POST /api/note: with a password its salt and its algorithm are needed', async (site) => {
    isInvalid(await site.tryNote({ hasPassword: true }), 'passwordAlgo', 'passwordSalt');
    isInvalid(await site.tryNote({ ...NOTE_PASSWORD, passwordAlgo: 'scrypt' }), 'passwordAlgo');
    for (const passwordAlgo of ['argon2id', 'pbkdf2'])
      answers(await site.tryNote({ ...NOTE_PASSWORD, passwordAlgo }), 201);
  }),
  serverCase('4.1', 'POST /api/note: 400 for a body that is no JSON object, with the field body', async (site) => {
    const headers = { 'Content-Type': 'application/json', ...site.creatingHeaders() };
    for (const body of ['[]', '7', '{"cut']) isInvalid(await site.send('POST', '/api/note', { headers, body }), 'body');
  }),
  serverCase('4.1', 'POST /api/note: 413 above noteMaxSize and 256 bytes, 201 for as many', async (site) => {
    const most = site.limits.noteMaxSize + ENCRYPTION_BYTES;
    if (most > LARGEST_SENT) skip(`noteMaxSize is ${site.limits.noteMaxSize} bytes, which is much to send`);
    const of = (bytes: number) => ({ encryptedContent: Buffer.alloc(bytes, 1).toString('base64') });
    refuses(await site.tryNote(of(most + 1)), 413, 'Note content exceeds maximum size');
    answers(await site.tryNote(of(most)), 201);
  }),
  serverCase('4.1', 'POST /api/note: each of noteExpireOptionsSec and noteViewOptions is taken', async (site) => {
    for (const expireSec of site.limits.noteExpireOptionsSec) answers(await site.tryNote({ expireSec }), 201);
    for (const maxViews of site.limits.noteViewOptions) answers(await site.tryNote({ maxViews }), 201);
  }),
  serverCase('4.2', 'GET /api/note/<id>: 200 with exactly these fields, and never the content', async (site) => {
    const { id, content, answer } = await site.note();
    const got = await look(site, id);
    answers(got, 200);
    const { createdAt, ...rest } = got.json as Record<string, unknown>;
    isTime('createdAt', createdAt);
    const { contentType, hasPassword, salt, maxViews } = content;
    const { expiresAt } = answer;
    equal('other fields', rest, { id, contentType, hasPassword, salt, maxViews, viewCount: 0, expiresAt });
  }),
  serverCase('4.2', 'GET /api/note/<id>: the password’s salt and algorithm, where there is one', async (site) => {
    const { id } = await site.note(NOTE_PASSWORD);
    const { hasPassword, passwordSalt, passwordAlgo } = (await look(site, id)).json as Record<string, unknown>;
    equal('password', { hasPassword, passwordSalt, passwordAlgo }, NOTE_PASSWORD);
  }),
  serverCase('4.3', 'POST /api/note/<id>/view: 200 with the content as it was sent, and the count', async (site) => {
    const { id, authToken, content } = await site.note();
    const { encryptedContent, nonce, maxViews } = content;
    answers(await site.view(id, authToken), 200, { encryptedContent, nonce, viewCount: 1, maxViews });
  }),
  serverCase('4.3', 'POST /api/note/<id>/view: 400, 404 and 401, in this order', async (site) => {
    const { id } = await site.note();
    isInvalid(await site.view(UNKNOWN, undefined), 'authToken');
    refuses(await site.view(UNKNOWN, token()), 404, NOT_FOUND);
    refuses(await site.view('no-id', token()), 404, NOT_FOUND);
    refuses(await site.view(id, token()), 401, 'Invalid auth token');
  }),
  serverCase(
    '4.3',
    'POST /api/note/<id>/view: the same again under its Idempotency-Key, uncounted, and 400 for what is no key',
    async (site) => {
      if (site.limits.viewRepeatSec === undefined) skip('a view cannot be repeated here (viewRepeatSec)');
      const { id, authToken } = await site.note();
      const key = { 'Idempotency-Key': `"${randomUUID()}"` };
      const first = await site.view(id, authToken, key);
      answers(first, 200);
      answers(await site.view(id, authToken, key), 200, first.json);
      refuses(await site.view(id, token(), key), 401, 'Invalid auth token');
      isInvalid(await site.view(id, authToken, { 'Idempotency-Key': '"short"' }), 'Idempotency-Key');
      const { viewCount } = (await look(site, id)).json as { viewCount?: unknown };
      equal('views', viewCount, 1);
    },
  ),
  serverCase('4.4', 'POST /api/note/<id>/password: 200, and 401 for a wrong token', async (site) => {
    const { id, authToken } = await site.note(NOTE_PASSWORD);
    answers(await check(site, id, authToken), 200, { ok: true });
    refuses(await check(site, id, token()), 401, 'Invalid password');
  }),
  serverCase('4.4', 'POST /api/note/<id>/password: 400, 404, and 400 without a password', async (site) => {
    const { id, authToken } = await site.note();
    isInvalid(await check(site, UNKNOWN, ''), 'authToken');
    refuses(await check(site, UNKNOWN, token()), 404, NOT_FOUND);
    refuses(await check(site, id, authToken), 400, 'Note is not password-protected');
  }),
  serverCase('4.5', 'DELETE /api/note/<id>: 401, then 200, and then 404 everywhere', async (site) => {
    const { id, authToken, ownerToken } = await site.note(NOTE_PASSWORD);
    refuses(await site.delete(`/api/note/${id}`, token()), 401, 'Invalid owner token');
    refuses(await site.delete(`/api/note/${id}`), 401, 'Invalid owner token');
    answers(await site.delete(`/api/note/${id}`, ownerToken), 200, { ok: true });
    refuses(await site.delete(`/api/note/${id}`, ownerToken), 404, NOT_FOUND);
    refuses(await look(site, id), 404, NOT_FOUND);
    refuses(await site.view(id, authToken), 404, NOT_FOUND);
    refuses(await check(site, id, authToken), 404, NOT_FOUND);
  }),
];
