import { expect, test } from 'vitest';
import { call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';

const newUploadHeaders = (changes: Record<string, string>) => ({
  ...uploadHeaders({ authToken: token(), ownerToken: token() }),
  ...changes,
});

const FORGED = {
  'X-Forwarded-Host': 'evil.example',
  'X-Forwarded-Proto': 'gopher',
  Forwarded: 'host=evil.example;proto=gopher',
};
const FROM_PROXY = { 'X-Forwarded-Host': 'files.example', 'X-Forwarded-Proto': 'https' };

/** Where the link of a new upload points to, without its id. */
async function linkBase(service: ShapeUnderTest, headers: Record<string, string>): Promise<string> {
  const { status, body } = await service.api.upload('x', newUploadHeaders(headers));
  expect(status).toBe(200);
  return String(body.url).replace(`/d/${body.id}`, '');
}

describeEachShape('answers', {}, (service) => {
  test('tell a browser that they are no page, no script and nobody’s frame, and are not to be kept', async () => {
    const upload = await service.api.newUpload();
    for (const answer of [
      await service.api.info(upload.id),
      await service.api.download(upload.id, upload.authToken),
      await service.api.download(upload.id, token()),
      await service.api.note(upload.id),
      await service.api.createNote({}),
      await call('GET', `${service.api.baseUrl}/api/config`),
      await call('GET', `${service.api.baseUrl}/api/health`),
      await call('GET', `${service.api.baseUrl}/nothing`),
    ]) {
      expect(answer.headers, answer.text).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': expect.stringMatching(/^default-src 'none';.*frame-ancestors 'none'/),
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      for (const name of ['server', 'x-powered-by']) expect(answer.headers[name]).toBeUndefined();
    }
  });

  test('the reference is a page with a policy of its own', async () => {
    const { status, headers } = await call('GET', `${service.api.baseUrl}/api/docs/`);
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(/script-src 'self'/);
  });

  test('without trusted proxies a link is where the request was sent, whatever forwarding headers say', async () => {
    expect(await linkBase(service, { ...FORGED, Host: 'localhost:1234' })).toBe('http://localhost:1234');
  });
});

describeEachShape(
  'a public address that is set',
  { BASE_URL: 'https://share.example/files/', TRUST_PROXY: '1' },
  (service) => {
    test('is what links begin with, whatever the request says', async () => {
      for (const headers of [FORGED, FROM_PROXY, { Host: 'evil.example' }]) {
        expect(await linkBase(service, headers)).toBe('https://share.example/files');
      }
    });
  },
);

describeEachShape('behind a proxy that is trusted', { TRUST_PROXY: '127.0.0.1/32' }, (service) => {
  test('a link is where the proxy was asked', async () => {
    expect(await linkBase(service, FROM_PROXY)).toBe('https://files.example');
  });
});

describeEachShape('beside a proxy that is trusted', { TRUST_PROXY: '10.0.0.0/8' }, (service) => {
  test('whoever comes another way is not believed', async () => {
    const headers = { ...FROM_PROXY, 'X-Forwarded-For': '203.0.113.9', Host: 'localhost:1234' };
    expect(await linkBase(service, headers)).toBe('http://localhost:1234');
  });
});

const NOTE_MAX = 30_000;

describeEachShape(
  'the quota of notes',
  { NOTE_MAX_SIZE: String(NOTE_MAX), UPLOAD_QUOTA_BYTES: '2000000' },
  (service) => {
    test('the largest body that is taken is charged, whatever fills it', async () => {
      const content = Buffer.alloc(NOTE_MAX + 256).toString('base64');
      const json = JSON.stringify(noteBody({ encryptedContent: content }));
      const send = (size: number) =>
        call('POST', `${service.api.baseUrl}/api/note`, {
          headers: { 'content-type': 'application/json' },
          body: json.padEnd(size),
        });
      // The largest size that the service takes, whatever its own allowance is.
      let [taken, refused] = [json.length, json.length * 2];
      while (refused - taken > 1) {
        const size = Math.floor((taken + refused) / 2);
        const { status } = await send(size);
        if (status === 429) break;
        if (status === 413) refused = size;
        else taken = size;
      }
      // Some forty notes fit into the quota; were any size free, this would go on.
      const statuses = [];
      for (let i = 0; i < 50; i++) statuses.push((await send(taken)).status);
      expect(statuses).toContain(429);
    });
  },
);
