import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Answer, call, noteBody, token, unknownId } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PASSWORD = { hasPassword: true, passwordSalt: Buffer.alloc(16, 3).toString('base64url'), passwordAlgo: 'pbkdf2' };
const NOT_FOUND = { error: 'Note not found' };
const EXPIRED = { error: 'Note has expired' };
const USED_UP = { error: 'View limit reached' };
const NOTE_MAX_SIZE = 2_000;

const expectAnswer = (answer: Answer, status: number, body: unknown) =>
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body });

describeEachShape('notes', { NOTE_MAX_SIZE: String(NOTE_MAX_SIZE) }, (service) => {
  const note = (changes = {}) => service.api.newNote(changes);
  const expired = async (changes = {}) => {
    const item = await note({ expireSec: 1, ...changes });
    await sleep(1_050);
    return item;
  };
  const usedUp = async (changes = {}) => {
    const item = await note({ maxViews: 1, ...changes });
    expect((await service.api.view(item.id, item.authToken)).status).toBe(200);
    return item;
  };

  describe('POST /api/note', () => {
    test('201: id and expiresAt, nothing else', async () => {
      const answer = await service.api.createNote(noteBody());
      expectAnswer(answer, 201, {
        id: expect.stringMatching(UUID),
        expiresAt: expect.stringMatching(TIMESTAMP),
      });
    });

    test.each(['text', 'password', 'code', 'markdown', 'sshkey'])('201: content type %s', async (contentType) => {
      const { id } = await note({ contentType });
      expect((await service.api.note(id)).body.contentType).toBe(contentType);
    });

    test.each(Object.keys(noteBody()))('400: %s is missing', async (field) => {
      await expectBadField(field, undefined);
    });

    test.each([
      ['encryptedContent', ''],
      ['encryptedContent', 'not base64'],
      ['encryptedContent', '_-_-'],
      ['encryptedContent', 'YQ'],
      ['encryptedContent', 5],
      ['encryptedContent', null],
      ['nonce', randomBytes(11).toString('base64')],
      ['nonce', randomBytes(13).toString('base64')],
      ['nonce', Buffer.alloc(12, 0xff).toString('base64url')],
      ['nonce', ''],
      ['salt', randomBytes(15).toString('base64url')],
      ['salt', randomBytes(17).toString('base64url')],
      ['salt', Buffer.alloc(16, 0xff).toString('base64')],
      ['ownerToken', ''],
      ['ownerToken', 'a+b/'],
      ['authToken', 'sp ace'],
      ['authToken', 'x'.repeat(5_000)],
      ['contentType', 'html'],
      ['contentType', 'Text'],
      ['maxViews', 0],
      ['maxViews', 4],
      ['maxViews', '1'],
      ['maxViews', 1.5],
      ['maxViews', -1],
      ['expireSec', 61],
      ['expireSec', '60'],
      ['hasPassword', 'true'],
      ['hasPassword', 1],
      ['hasPassword', null],
    ])('400: %s is not acceptable: %s', async (field, value) => {
      await expectBadField(field, value);
    });

    test.each(['passwordSalt', 'passwordAlgo'])('400: %s is missing with a password', async (field) => {
      await expectBadField(field, undefined, PASSWORD);
    });

    test.each([
      ['passwordSalt', randomBytes(15).toString('base64url')],
      ['passwordSalt', null],
      ['passwordAlgo', 'scrypt'],
      ['passwordAlgo', null],
    ])('400: %s is not acceptable with a password: %s', async (field, value) => {
      await expectBadField(field, value, PASSWORD);
    });

    test('without a password its fields mean nothing', async () => {
      const { id } = await note({ passwordSalt: null, passwordAlgo: 'none' });
      const { body } = await service.api.note(id);
      expect(body).not.toHaveProperty('passwordAlgo');
      expect(body).not.toHaveProperty('passwordSalt');
    });

    test('413: content is too large by one byte; NOTE_MAX_SIZE + 256 bytes is not', async () => {
      const largest = NOTE_MAX_SIZE + 256;
      await note({ encryptedContent: randomBytes(largest).toString('base64') });
      for (const size of [largest + 1, 100_000, 5_000_000]) {
        const answer = await service.api.createNote(
          noteBody({ encryptedContent: randomBytes(size).toString('base64') }),
        );
        expectAnswer(answer, 413, { error: 'Note content exceeds maximum size' });
      }
    });

    async function expectBadField(field: string, value: unknown, others = {}) {
      const answer = await service.api.createNote({ ...noteBody(), ...others, [field]: value });
      expectAnswer(answer, 400, { error: 'Invalid request', details: { [field]: expect.any(Array) } });
    }
  });

  describe('GET /api/note/<id>', () => {
    test('200: the public representation without content, nonce or tokens', async () => {
      const { id, salt, expiresAt } = await note({ contentType: 'code', maxViews: 5 });
      const answer = await service.api.note(id);
      expectAnswer(answer, 200, {
        id,
        contentType: 'code',
        hasPassword: false,
        salt,
        maxViews: 5,
        viewCount: 0,
        expiresAt,
        createdAt: expect.stringMatching(TIMESTAMP),
      });
      expect(Date.parse(expiresAt) - Date.parse(String(answer.body.createdAt))).toBe(3_600_000);
    });

    test('200: with a password also its algorithm and salt', async () => {
      const { id } = await note(PASSWORD);
      expect((await service.api.note(id)).body).toMatchObject(PASSWORD);
    });

    test('200 as often as wanted: nothing is counted', async () => {
      const { id } = await note({ maxViews: 1 });
      for (let round = 0; round < 3; round++) expect((await service.api.note(id)).body.viewCount).toBe(0);
    });

    test('404: unknown note', async () => {
      expectAnswer(await service.api.note(unknownId), 404, NOT_FOUND);
    });

    test('410: expired, or view limit reached', async () => {
      expectAnswer(await service.api.note((await expired()).id), 410, EXPIRED);
      expectAnswer(await service.api.note((await usedUp()).id), 410, USED_UP);
    });
  });

  describe('POST /api/note/<id>/view', () => {
    test('200: content, nonce and the new count, up to the limit', async () => {
      const { id, authToken, encryptedContent, nonce } = await note({ maxViews: 2 });
      const body = { encryptedContent, nonce, maxViews: 2 };
      expectAnswer(await service.api.view(id, authToken), 200, { ...body, viewCount: 1 });
      expectAnswer(await service.api.view(id, authToken), 200, { ...body, viewCount: 2 });
      expectAnswer(await service.api.view(id, authToken), 410, USED_UP);
    });

    test('200: content of the largest size comes back as it was sent', async () => {
      const encryptedContent = randomBytes(NOTE_MAX_SIZE + 256).toString('base64');
      const { id, authToken } = await note({ encryptedContent });
      expect((await service.api.view(id, authToken)).body.encryptedContent).toBe(encryptedContent);
    });

    test('400: no auth token in the body', async () => {
      const { id } = await note();
      for (const json of [{}, { authToken: '' }, { authToken: 5 }, { authToken: null }, null, []]) {
        expect((await call('POST', `${service.api.baseUrl}/api/note/${id}/view`, { json })).status).toBe(400);
      }
      expect((await service.api.note(id)).body.viewCount).toBe(0);
    });

    test('401: wrong or the other token, and nothing is counted', async () => {
      const { id, ownerToken } = await note({ maxViews: 1 });
      for (const wrong of [token(), ownerToken]) {
        expectAnswer(await service.api.view(id, wrong), 401, { error: 'Invalid auth token' });
      }
      expect((await service.api.note(id)).body.viewCount).toBe(0);
    });

    test('404: unknown note', async () => {
      expectAnswer(await service.api.view(unknownId, token()), 404, NOT_FOUND);
    });

    test('410: expired, or view limit reached, whatever the token', async () => {
      expectAnswer(await service.api.view((await expired()).id, token()), 410, EXPIRED);
      expectAnswer(await service.api.view((await usedUp()).id, token()), 410, USED_UP);
    });
  });

  describe('POST /api/note/<id>/password', () => {
    test('200 and 401, as often as wanted: nothing is counted', async () => {
      const { id, authToken } = await note({ ...PASSWORD, maxViews: 1 });
      for (let round = 0; round < 3; round++) {
        expectAnswer(await service.api.checkNotePassword(id, authToken), 200, { ok: true });
        expectAnswer(await service.api.checkNotePassword(id, token()), 401, { error: 'Invalid password' });
      }
      expect((await service.api.note(id)).body.viewCount).toBe(0);
    });

    test('400: no password protects the note', async () => {
      const { id, authToken } = await note();
      const body = { error: 'Note is not password-protected' };
      expectAnswer(await service.api.checkNotePassword(id, authToken), 400, body);
    });

    test('404: unknown note', async () => {
      expectAnswer(await service.api.checkNotePassword(unknownId, token()), 404, NOT_FOUND);
    });

    test('410: expired, or view limit reached', async () => {
      const old = await expired(PASSWORD);
      expectAnswer(await service.api.checkNotePassword(old.id, old.authToken), 410, EXPIRED);
      const used = await usedUp(PASSWORD);
      expectAnswer(await service.api.checkNotePassword(used.id, used.authToken), 410, USED_UP);
    });
  });

  describe('DELETE /api/note/<id>', () => {
    test('200 in every state, then 404 everywhere', async () => {
      for (const item of [await note(PASSWORD), await expired(PASSWORD), await usedUp(PASSWORD)]) {
        expectAnswer(await service.api.deleteNote(item.id, item.ownerToken), 200, { ok: true });
        expectAnswer(await service.api.note(item.id), 404, NOT_FOUND);
        expectAnswer(await service.api.view(item.id, item.authToken), 404, NOT_FOUND);
        expectAnswer(await service.api.checkNotePassword(item.id, item.authToken), 404, NOT_FOUND);
        expectAnswer(await service.api.deleteNote(item.id, item.ownerToken), 404, NOT_FOUND);
      }
    });

    test('200 after the sweep, too', async () => {
      const item = await usedUp();
      await sleep(2_500); // two sweeps
      expectAnswer(await service.api.note(item.id), 410, USED_UP);
      expectAnswer(await service.api.deleteNote(item.id, item.ownerToken), 200, { ok: true });
      expectAnswer(await service.api.note(item.id), 404, NOT_FOUND);
    });

    test('401: wrong, missing or the other token, and nothing is deleted', async () => {
      const { id, authToken } = await note();
      for (const wrong of [token(), undefined, authToken]) {
        expectAnswer(await service.api.deleteNote(id, wrong), 401, { error: 'Invalid owner token' });
      }
      expect((await service.api.note(id)).status).toBe(200);
    });

    test('404: unknown note', async () => {
      expectAnswer(await service.api.deleteNote(unknownId, token()), 404, NOT_FOUND);
    });
  });

  test.each(['no-uuid', '..%2F..%2Fetc%2Fpasswd', '%zz', '%00', 'a'.repeat(3_000)])(
    '404: an id that no note can have: %s',
    async (id) => {
      expectAnswer(await service.api.note(id), 404, NOT_FOUND);
      expectAnswer(await service.api.view(id, token()), 404, NOT_FOUND);
      expectAnswer(await service.api.checkNotePassword(id, token()), 404, NOT_FOUND);
      expectAnswer(await service.api.deleteNote(id, token()), 404, NOT_FOUND);
    },
  );
});
