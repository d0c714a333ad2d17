import { expect, test } from 'vitest';
import { type Answer, PASSWORD_HEADERS, token } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const statuses = (answers: Answer[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

describeEachShape('counting', {}, (service) => {
  /** The same request many times at once, spread over the replicas. */
  const atOnce = (count: number, send: (api: (typeof service.replicas)[number]) => Promise<Answer>) => {
    const { replicas } = service;
    return Promise.all(
      Array.from({ length: count }, (_, index) => send(replicas[index % replicas.length] ?? service.api)),
    );
  };

  test.each([1, 2, 5])('of 200 downloads at once of a %i-download upload exactly that many succeed', async (limit) => {
    const item = await service.api.newUpload({ 'X-Max-Downloads': String(limit) }, Buffer.alloc(200_000, 1));
    const answers = await atOnce(200, (api) => api.download(item.id, item.authToken));
    expect(statuses(answers)).toEqual({ 200: limit, 410: 200 - limit });
    const complete = answers.filter(({ body }) => body.bytes instanceof Buffer && body.bytes.equals(item.payload));
    expect(complete).toHaveLength(limit);
    expect((await service.api.exists(item.id)).body).toEqual({ exists: false, reason: 'limit_reached' });
  });

  test.each([1, 2, 5])(
    'of 200 views at once of a %i-view note the successes count 1 to N without a gap',
    async (limit) => {
      const note = await service.api.newNote({ maxViews: limit });
      const answers = await atOnce(200, (api) => api.view(note.id, note.authToken));
      expect(statuses(answers)).toEqual({ 200: limit, 410: 200 - limit });
      const views = answers.filter(({ status }) => status === 200).map(({ body }) => body);
      expect(views.map(({ viewCount }) => viewCount).sort()).toEqual(Array.from({ length: limit }, (_, i) => i + 1));
      expect(views.every(({ encryptedContent }) => encryptedContent === note.encryptedContent)).toBe(true);
    },
  );

  test('of 20 POST /api/meta at once one sets the metadata, the rest get 409', async () => {
    const item = await service.api.newUpload();
    const answers = await atOnce(20, (api) => api.setMeta(item.id, item.ownerToken));
    expect(statuses(answers)).toEqual({ 200: 1, 409: 19 });
  });

  test('of 20 deletes at once one succeeds, the rest get 404', async () => {
    const item = await service.api.newUpload();
    const note = await service.api.newNote();
    expect(statuses(await atOnce(20, (api) => api.deleteUpload(item.id, item.ownerToken)))).toEqual({
      200: 1,
      404: 19,
    });
    expect(statuses(await atOnce(20, (api) => api.deleteNote(note.id, note.ownerToken)))).toEqual({ 200: 1, 404: 19 });
  });

  test('what only looks counts nothing: info, exists, password checks, wrong tokens', async () => {
    const item = await service.api.newUpload({ ...PASSWORD_HEADERS, 'X-Max-Downloads': '1' });
    await atOnce(20, (api) => api.info(item.id));
    await atOnce(20, (api) => api.exists(item.id));
    await atOnce(10, (api) => api.checkPassword(item.id, item.authToken));
    await atOnce(5, (api) => api.checkPassword(item.id, token()));
    await atOnce(5, (api) => api.download(item.id, token()));
    expect((await service.api.info(item.id)).body.downloadCount).toBe(0);
    expect((await service.api.download(item.id, item.authToken)).status).toBe(200);
  });

  test('a blob that cannot be opened costs the recipient nothing', async () => {
    const item = await service.api.newUpload({ 'X-Max-Downloads': '1' });
    const { blobs } = service.running;
    await blobs.hide(item.id);
    const answer = await service.api.download(item.id, item.authToken);
    expect([answer.status, answer.body]).toEqual([503, { error: 'Service unavailable' }]);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect((await service.api.info(item.id)).body.downloadCount).toBe(0);
    await blobs.show(item.id);
    expect((await service.api.download(item.id, item.authToken)).body.bytes).toEqual(item.payload);
  });

  test.each(['shorter', 'longer'])(
    'a payload that is %s in the store than it was is 503 and costs nothing',
    async (how) => {
      const { blobs } = service.running;
      const item = await service.api.newUpload({ 'X-Max-Downloads': '1' });
      const damaged = how === 'shorter' ? item.payload.subarray(1) : Buffer.concat([item.payload, Buffer.alloc(1)]);
      await blobs.plant(`${item.id}.bin`, damaged);
      expect((await service.api.download(item.id, item.authToken)).body).toEqual({ error: 'Service unavailable' });
      expect((await service.api.info(item.id)).body.downloadCount).toBe(0);
      await blobs.plant(`${item.id}.bin`, item.payload);
      expect((await service.api.download(item.id, item.authToken)).body.bytes).toEqual(item.payload);
    },
  );
});
