import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { type Answer, type Api, call, token, unknownId } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

type Kind = 'upload' | 'note';
type Owned = { id: string; ownerToken: string };

const MINUTE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/;
const asOwner = (ownerToken: string | undefined) => (ownerToken ? { 'X-Owner-Token': ownerToken } : {});
const status = (api: Api, kind: Kind, id: string, ownerToken?: string) =>
  call('GET', `${api.baseUrl}/api/own/${kind}/${id}`, { headers: asOwner(ownerToken) as Record<string, string> });
const setTerms = (api: Api, kind: Kind, id: string, ownerToken: string | undefined, json: unknown) =>
  call('POST', `${api.baseUrl}/api/own/${kind}/${id}/terms`, {
    json,
    headers: asOwner(ownerToken) as Record<string, string>,
  });
const lifetimeSec = ({ body }: Answer) =>
  (Date.parse(String(body.expiresAt)) - Date.parse(String(body.createdAt))) / 1000;

describeEachShape(
  'owners',
  {
    EXPIRE_OPTIONS_SEC: '60,3600,86400,172800',
    NOTE_EXPIRE_OPTIONS_SEC: '60,3600,86400,172800',
    MAX_LIFETIME_SEC: '100000',
  },
  (service) => {
    const other = () => service.replicas.at(-1) ?? service.api;
    const upload = (changes = {}) => service.api.newUpload(changes);
    const note = (changes = {}) => service.api.newNote(changes);
    const ofUpload = ({ id, ownerToken }: Owned) => status(other(), 'upload', id, ownerToken);
    const ofNote = ({ id, ownerToken }: Owned) => status(other(), 'note', id, ownerToken);

    describe('GET /api/own/upload/<id>', () => {
      test('200: counts, times to the minute, what arrived whole; also when it is over', async () => {
        const item = await upload({ 'X-Max-Downloads': '2' });
        const { id, authToken, ownerToken } = item;
        expect((await ofUpload(item)).body).toEqual({
          state: 'available',
          createdAt: expect.any(String),
          expiresAt: expect.any(String),
          usedAt: [],
          downloadCount: 0,
          maxDownloads: 2,
          wholeCount: 0,
          metaSet: false,
        });
        await service.api.setMeta(id, ownerToken);
        expect((await service.api.download(id, authToken)).status).toBe(200);
        await untilTrue(async () => (await ofUpload(item)).body.wholeCount === 1);
        expect((await ofUpload(item)).body).toMatchObject({
          downloadCount: 1,
          usedAt: [expect.stringMatching(MINUTE)],
        });
        expect((await service.api.download(id, authToken)).status).toBe(200);
        await untilTrue(async () => (await ofUpload(item)).body.wholeCount === 2);
        await untilTrue(async () => !(await service.running.blobs.names()).some((name) => name.includes(id))); // swept
        const { body } = await ofUpload(item);
        expect(body).toMatchObject({ state: 'limit_reached', downloadCount: 2, maxDownloads: 2, wholeCount: 2 });
        expect(body.usedAt).toHaveLength(2);
      });

      test('200: a lease is whole when its recipient says so, and one that brought nothing was no use', async () => {
        const item = await upload({ 'X-Max-Downloads': '3' });
        const lease = (name: string, query = '') => ({
          read: () =>
            call('GET', `${other().baseUrl}/api/lease/${item.id}`, {
              headers: { 'x-auth-token': item.authToken, 'x-download-lease': name },
            }),
          end: () =>
            call('DELETE', `${other().baseUrl}/api/lease/${item.id}${query}`, {
              headers: { 'x-auth-token': item.authToken, 'x-download-lease': name },
            }),
        });
        const [said, unsaid] = [lease(token(), '?whole=true'), lease(token())];
        await said.read();
        await unsaid.read();
        for (const one of [said, said, unsaid]) expect((await one.end()).status).toBe(200);
        const { body } = await ofUpload(item);
        expect(body).toMatchObject({ state: 'available', downloadCount: 2, wholeCount: 1 });
        expect(body.usedAt).toHaveLength(2);
      });

      test('401: wrong or missing owner token', async () => {
        const { id, authToken } = await upload();
        for (const wrong of [undefined, token(), authToken]) {
          const answer = await status(service.api, 'upload', id, wrong);
          expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid or missing owner token' }]);
        }
      });

      test('404: unknown', async () => {
        const { id } = await note();
        for (const unknown of [unknownId, 'x', id]) {
          const answer = await status(service.api, 'upload', unknown, token());
          expect([answer.status, answer.body]).toEqual([404, { error: 'Upload not found' }]);
        }
      });
    });

    describe('POST /api/own/upload/<id>/terms', () => {
      const set = (item: Owned, json: unknown) => setTerms(other(), 'upload', item.id, item.ownerToken, json);

      test('200: longer, shorter, more downloads, fewer, closed', async () => {
        const item = await upload({ 'X-Expire-Sec': '3600', 'X-Max-Downloads': '2' });
        const longer = await set(item, { expireSec: 86_400, maxDownloads: 5 });
        expect([longer.status, longer.body.maxDownloads]).toEqual([200, 5]);
        expect(lifetimeSec(longer)).toBeGreaterThanOrEqual(86_400);
        expect((await service.api.info(item.id)).body).toMatchObject({
          expiresAt: longer.body.expiresAt,
          maxDownloads: 5,
        });
        expect(lifetimeSec(await set(item, { expireSec: 172_800 }))).toBe(100_000); // and no longer in all
        expect(lifetimeSec(await set(item, { expireSec: 60 }))).toBeLessThan(3_600);
        expect((await service.api.download(item.id, item.authToken)).status).toBe(200);
        const closed = await set(item, { maxDownloads: 1 });
        expect([closed.status, closed.body.state, closed.body.downloadCount]).toEqual([200, 'limit_reached', 1]);
        expect((await service.api.download(item.id, item.authToken)).status).toBe(410);
      });

      test('200: ended at once, and swept; who reads it under a lease reads on', async () => {
        const item = await upload();
        const lease = (range: string) =>
          call('GET', `${other().baseUrl}/api/lease/${item.id}`, {
            headers: { 'x-auth-token': item.authToken, 'x-download-lease': item.ownerToken, range },
          });
        expect((await lease('bytes=0-9')).status).toBe(206);
        expect((await set(item, { expireSec: 0 })).body).toMatchObject({ downloadCount: 1 });
        await untilTrue(async () => (await service.api.exists(item.id)).body.reason === 'expired');
        expect((await service.api.download(item.id, item.authToken)).status).toBe(410);
        expect((await lease('bytes=10-')).status).toBe(206);
        expect((await ofUpload(item)).body).toMatchObject({ state: 'expired', downloadCount: 1 });
      });

      test('400: nothing to change, no option; it stays as it was', async () => {
        const item = await upload({ 'X-Expire-Sec': '60' });
        const before = (await ofUpload(item)).body;
        for (const [json, field] of [
          [{}, 'maxDownloads'],
          [{ expireSec: 61 }, 'expireSec'],
          [{ expireSec: -1 }, 'expireSec'],
          [{ expireSec: '60' }, 'expireSec'],
          [{ maxDownloads: 6 }, 'maxDownloads'],
          [{ maxDownloads: 1.5 }, 'maxDownloads'],
        ] as const) {
          const answer = await set(item, json);
          expect([answer.status, answer.body.error, Object.keys(answer.body.details ?? {})]).toEqual([
            400,
            'Invalid request',
            [field],
          ]);
        }
        expect((await ofUpload(item)).body).toEqual(before);
      });

      test('401: wrong or missing owner token', async () => {
        const { id, authToken } = await upload();
        for (const wrong of [undefined, token(), authToken]) {
          const answer = await setTerms(service.api, 'upload', id, wrong, { expireSec: 60 });
          expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid or missing owner token' }]);
        }
      });

      test('404: unknown', async () => {
        const answer = await setTerms(service.api, 'upload', unknownId, token(), { expireSec: 60 });
        expect([answer.status, answer.body]).toEqual([404, { error: 'Upload not found' }]);
      });

      test('409: below what was used', async () => {
        const item = await upload({ 'X-Max-Downloads': '5' });
        for (let count = 0; count < 3; count++) await service.api.download(item.id, item.authToken);
        const answer = await set(item, { maxDownloads: 2, expireSec: 86_400 });
        expect([answer.status, answer.body]).toEqual([409, { error: 'Below what was used' }]);
        expect((await ofUpload(item)).body).toMatchObject({ state: 'available', maxDownloads: 5 });
      });

      test('410: what is over stays over', async () => {
        const item = await upload({ 'X-Max-Downloads': '1' });
        await service.api.download(item.id, item.authToken);
        const answer = await set(item, { maxDownloads: 5 });
        expect([answer.status, answer.body]).toEqual([410, { error: 'Upload expired or download limit reached' }]);
        expect((await service.api.download(item.id, item.authToken)).status).toBe(410);
      });
    });

    describe('GET /api/own/note/<id>', () => {
      test('200: counts, times to the minute; also when it is over', async () => {
        const item = await note({ maxViews: 1 });
        const facts = { createdAt: expect.any(String), expiresAt: expect.any(String), maxViews: 1 };
        expect((await ofNote(item)).body).toEqual({ state: 'available', usedAt: [], viewCount: 0, ...facts });
        expect((await service.api.view(item.id, item.authToken)).status).toBe(200);
        const usedAt = [expect.stringMatching(MINUTE)];
        expect((await ofNote(item)).body).toEqual({ state: 'limit_reached', usedAt, viewCount: 1, ...facts });
      });

      test('401: wrong or missing owner token', async () => {
        const { id, authToken } = await note();
        for (const wrong of [undefined, token(), authToken]) {
          const answer = await status(service.api, 'note', id, wrong);
          expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid owner token' }]);
        }
      });

      test('404: unknown', async () => {
        const { id } = await upload();
        for (const unknown of [unknownId, 'x', id]) {
          const answer = await status(service.api, 'note', unknown, token());
          expect([answer.status, answer.body]).toEqual([404, { error: 'Note not found' }]);
        }
      });
    });

    describe('POST /api/own/note/<id>/terms', () => {
      const set = (item: Owned, json: unknown) => setTerms(other(), 'note', item.id, item.ownerToken, json);

      test('200: longer, more views, closed', async () => {
        const item = await note({ maxViews: 1, expireSec: 60 });
        const changed = await set(item, { expireSec: 86_400, maxViews: 3 });
        expect([changed.status, changed.body.maxViews]).toEqual([200, 3]);
        expect(lifetimeSec(changed)).toBeGreaterThanOrEqual(86_400);
        expect((await service.api.view(item.id, item.authToken)).body).toMatchObject({ viewCount: 1, maxViews: 3 });
        expect((await set(item, { maxViews: 1 })).body).toMatchObject({ state: 'limit_reached', viewCount: 1 });
        expect((await service.api.view(item.id, item.authToken)).status).toBe(410);
      });

      test('400: nothing to change, no option', async () => {
        const item = await note({ expireSec: 60 });
        for (const json of [{}, { expireSec: 61 }, { maxViews: 7 }, { maxDownloads: 2 }]) {
          const answer = await set(item, json);
          expect([answer.status, answer.body.error]).toEqual([400, 'Invalid request']);
        }
      });

      test('401: wrong or missing owner token', async () => {
        const { id } = await note();
        const answer = await setTerms(service.api, 'note', id, token(), { expireSec: 60 });
        expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid owner token' }]);
      });

      test('404: unknown', async () => {
        const answer = await setTerms(service.api, 'note', unknownId, token(), { expireSec: 60 });
        expect([answer.status, answer.body]).toEqual([404, { error: 'Note not found' }]);
      });

      test('409: below what was used', async () => {
        const item = await note({ maxViews: 5 });
        for (let count = 0; count < 2; count++) await service.api.view(item.id, item.authToken);
        const answer = await set(item, { maxViews: 1 });
        expect([answer.status, answer.body]).toEqual([409, { error: 'Below what was used' }]);
      });

      test('410: what is over stays over, and says why', async () => {
        const [used, ended] = [await note({ maxViews: 1 }), await note({ maxViews: 5 })];
        await service.api.view(used.id, used.authToken);
        await set(ended, { expireSec: 0 });
        await untilTrue(async () => (await service.api.note(ended.id)).status === 410);
        const answers = [await set(used, { maxViews: 5 }), await set(ended, { expireSec: 60 })];
        expect(answers.map(({ status, body }) => [status, body])).toEqual([
          [410, { error: 'View limit reached' }],
          [410, { error: 'Note has expired' }],
        ]);
      });
    });

    test('of 200 downloads at once, while the owner changes the limit, never more than it says', async () => {
      for (const [before, after] of [
        ['5', 20],
        ['20', 5],
      ] as const) {
        const item = await upload({ 'X-Max-Downloads': before });
        const downloads = Array.from({ length: 200 }, (_, index) =>
          (index % 2 ? other() : service.api).download(item.id, item.authToken),
        );
        const change = setTerms(other(), 'upload', item.id, item.ownerToken, { maxDownloads: after });
        const delivered = (await Promise.all(downloads)).filter((answer) => answer.status === 200).length;
        await change;
        const { body } = await ofUpload(item);
        expect([body.downloadCount, (body.usedAt as string[]).length]).toEqual([delivered, delivered]);
        expect(delivered).toBe(body.maxDownloads);
      }
    });
  },
);

describeEachShape('without control by owners', { OWNER_CONTROL: 'no' }, (service) => {
  test('its paths are none, and config does not name it', async () => {
    const [upload, note] = [await service.api.newUpload(), await service.api.newNote()];
    for (const answer of [
      await status(service.api, 'upload', upload.id, upload.ownerToken),
      await status(service.api, 'note', note.id, note.ownerToken),
      await setTerms(service.api, 'upload', upload.id, upload.ownerToken, { expireSec: 60 }),
      await setTerms(service.api, 'note', note.id, note.ownerToken, { expireSec: 60 }),
    ]) {
      expect([answer.status, answer.body]).toEqual([404, { error: 'Not Found' }]);
    }
    expect((await call('GET', `${service.api.baseUrl}/api/config`)).body).not.toHaveProperty('owner');
  });
});

describeEachShape('without times of uses', { USE_TIMES: 'none' }, (service) => {
  test('uses are counted, and nobody knows when they were', async () => {
    const upload = await service.api.newUpload();
    await service.api.download(upload.id, upload.authToken);
    const note = await service.api.newNote({ maxViews: 2 });
    await service.api.view(note.id, note.authToken);
    const answers = [
      await status(service.api, 'upload', upload.id, upload.ownerToken),
      await status(service.api, 'note', note.id, note.ownerToken),
    ];
    expect(answers.map(({ body }) => [body.downloadCount ?? body.viewCount, body.usedAt])).toEqual([
      [1, []],
      [1, []],
    ]);
  });
});
