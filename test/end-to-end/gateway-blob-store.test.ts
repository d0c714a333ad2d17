import { untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { type Api, call, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const MiB = 1024 * 1024;

describeEachShape('without the blob store', { UPLOAD_QUOTA_BYTES: String(5 * MiB) }, (service) => {
  const health = (api: Api) => call('GET', `${api.baseUrl}/api/health`);
  const send = (api: Api, size: number) =>
    api.upload(Buffer.alloc(size), uploadHeaders({ authToken: token(), ownerToken: token() }));

  test('files are down, notes go on, nothing is counted or charged, and all is well when it is back', async () => {
    const { blobs } = service.running;
    const upload = await service.api.newUpload({ 'X-Max-Downloads': '1' });
    await blobs.away();
    try {
      for (const api of service.replicas) {
        await expect
          .poll(async () => [(await health(api)).status, (await health(api)).body.components], { timeout: 5_000 })
          .toEqual([503, { files: 'down', notes: 'ok', redis: 'ok' }]);
        // Three refused uploads of two megabytes each are more than the quota.
        for (let i = 0; i < 3; i++) {
          const refused = await send(api, 2 * MiB);
          expect([refused.status, refused.body]).toEqual([503, { error: 'Service unavailable' }]);
          expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
        }
        expect((await api.download(upload.id, upload.authToken)).status).toBe(503);
        expect((await api.info(upload.id)).body.downloadCount).toBe(0);
        const note = await api.newNote();
        expect((await api.view(note.id, note.authToken)).status).toBe(200);
      }
      // Nobody is taken out for what all miss: the janitor alone has nothing to do without it.
      for (const { name, adminUrl } of service.running.processes.filter(({ name }) => name !== 'janitor')) {
        expect((await fetch(`${adminUrl}/readyz`)).status, name).toBe(200);
      }
    } finally {
      await blobs.back();
    }
    for (const api of service.replicas) await untilTrue(async () => (await health(api)).status === 200);
    expect((await service.api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
    expect((await send(service.api, 2 * MiB)).status).toBe(200);
    expect((await blobs.names()).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});
