import { UPLOAD_INFO } from '@mayfly/testing/good-answers';
import { serve } from '@mayfly/testing/listen';
import { describe, expect, test } from 'vitest';
import { fetchTransport, formatLink, MayflyClient } from '../src/index.ts';

const ID = UPLOAD_INFO.id;
const secret = new Uint8Array(32).fill(7);
/** What another key has encrypted, or what somebody has changed. */
const CLOSED = { encryptedMeta: 'A'.repeat(64), nonce: 'A'.repeat(16) };
const SAID = { passwordAlgo: undefined, isSealed: false };

/** A service that answers the question for the key with this status; undefined when the connection breaks. */
async function look(status: number | undefined, { isOld = true, info = {} } = {}) {
  const asked: string[] = [];
  await using server = await serve((request, response) => {
    if (request.method === 'GET') return response.end(JSON.stringify({ ...UPLOAD_INFO, ...CLOSED, ...info }));
    asked.push(`${request.method} ${request.url}`);
    if (status === undefined) return request.destroy();
    return response.writeHead(status).end('{"ok":true}');
  });
  const protection = isOld ? undefined : SAID;
  const link = await formatLink({ kind: 'upload', baseUrl: server.url, id: ID, secret, protection });
  const client = new MayflyClient({ baseUrl: server.url, transport: fetchTransport() });
  const told = [client.getInfo(link), client.download(link)].map((answer) => answer.catch((error) => error));
  return { failures: await Promise.all(told), asked };
}

describe('a description that does not open with the key of an old link, which has no check', () => {
  test.each([
    ['a wrong key where the service does not know the key', 401, 'wrong-token'],
    ['changed where the service knows the key', 200, 'tampered'],
    ['one of the two where the service has no leases', 404, 'key-or-tampered'],
    ['one of the two where nobody may begin to download any more', 410, 'key-or-tampered'],
    ['one of the two after too many wrong keys', 429, 'key-or-tampered'],
    ['one of the two where the service does not answer', undefined, 'key-or-tampered'],
  ])('is %s', async (_, status, code) => {
    const { failures, asked } = await look(status);
    expect(failures).toMatchObject([{ code }, { code }]);
    expect(asked).toEqual(Array(2).fill(`DELETE /api/lease/${ID}`));
  });

  test('is changed where it is not even base64: no key would open it', async () => {
    const { failures, asked } = await look(401, { info: { encryptedMeta: '?' } });
    expect(failures).toMatchObject([{ code: 'tampered' }, { code: 'tampered' }]);
    expect(asked).toEqual([]);
  });
});

test('a description that does not open with a link whose check is right was changed, and nobody is asked', async () => {
  const { failures, asked } = await look(401, { isOld: false });
  expect(failures).toMatchObject([{ code: 'tampered' }, { code: 'tampered' }]);
  expect(asked).toEqual([]);
});
