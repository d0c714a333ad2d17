import { exchange } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { call, noteBody, PASSWORD_HEADERS, token } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

/** The answers of a connection: every one is JSON with an `error` and a 4xx, or the connection just ends. */
function expectOnlyCleanErrors(answer: string) {
  for (const part of answer.split(/(?=HTTP\/1\.1 \d)/).filter(Boolean)) {
    expect(part).toMatch(/^HTTP\/1\.1 4\d\d /);
    const body = part.slice(part.indexOf('\r\n\r\n') + 4);
    expect(JSON.parse(body)).toMatchObject({ error: expect.any(String) });
    expect(part).not.toMatch(/\bat .*:\d+:\d+|node_modules|fastify|FST_|HPE_/i);
  }
}

describeEachShape('bad input', {}, (service) => {
  const send = (method: Parameters<typeof call>[0], path: string, options = {}) =>
    call(method, service.api.baseUrl + path, options);
  const expectError = (answer: Awaited<ReturnType<typeof call>>, status: number) => {
    expect(answer.status, answer.text).toBe(status);
    expect(answer.body.error).toEqual(expect.any(String));
    expect(answer.text).not.toMatch(/node_modules|fastify|FST_|\.ts:/i);
  };

  test.each([
    ['PUT', '/api/upload'],
    ['GET', '/api/upload'],
    ['PATCH', '/api/note'],
    ['DELETE', '/api/info/x'],
    ['POST', '/api/health'],
    ['PUT', '/api/config'],
    ['POST', '/api/download/x'],
    ['GET', '/api/note/x/view'],
  ] as const)('405 with Allow: %s %s', async (method, path) => {
    const answer = await send(method, path);
    expectError(answer, 405);
    expect(answer.headers.allow).toEqual(expect.stringMatching(/GET|POST|DELETE/));
  });

  test.each([
    '/api',
    '/api/',
    '/api/nope',
    '/api/info',
    '/api/info/a/b',
    '/api/upload/x/y',
    '/api/../etc/passwd',
    '/readyz',
  ])('404: unknown route %s', async (path) => {
    expectError(await send('GET', path), 404);
  });

  describe('JSON bodies', () => {
    const bad: Record<string, string> = {
      'not JSON': '{"authToken":',
      'a bare word': 'hello',
      'an empty body': '',
      null: 'null',
      'a number': '5',
      'a string': '"token"',
      'an array': '[]',
      'deeply nested': `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
      __proto__: '{"__proto__":{"authToken":"YQ"},"authToken":"YQ"}',
      'constructor.prototype': '{"constructor":{"prototype":{"x":1}},"authToken":"YQ"}',
      'a NUL byte': '{"authToken":"a\u0000b"}',
      'a token of another type': '{"authToken":{"$ne":null}}',
      'a token as a list': '{"authToken":["YQ"]}',
    };
    test.each(Object.keys(bad))('400: %s', async (name) => {
      const upload = await service.api.newUpload(PASSWORD_HEADERS);
      const note = await service.api.newNote();
      const options = { headers: { 'content-type': 'application/json' }, body: bad[name] ?? '' };
      for (const path of [
        `/api/password/${upload.id}`,
        `/api/note/${note.id}/view`,
        `/api/meta/${upload.id}`,
        '/api/note',
      ]) {
        const answer = await send('POST', path, options);
        expectError(answer, 400);
        expect(answer.body).toMatchObject({ error: 'Invalid request', details: expect.any(Object) });
      }
      expect((await service.api.note(note.id)).body.viewCount).toBe(0);
    });
    test.each(['/api/meta/', '/api/note'])('400: very deeply nested, where there is room for it: %s', async (path) => {
      const upload = await service.api.newUpload();
      const body = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
      const options = { headers: { 'content-type': 'application/json' }, body };
      expectError(await send('POST', path.endsWith('/') ? path + upload.id : path, options), 400);
    });

    test('an extra field changes nothing', async () => {
      const { id } = await service.api.newNote({ viewCount: 5, id: 'mine', isAdmin: true });
      expect((await service.api.note(id)).body).toMatchObject({ id, viewCount: 0 });
    });

    test.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'nonsense',
    ])('415: content type %s', async (type) => {
      const body = JSON.stringify(noteBody());
      expectError(await send('POST', '/api/note', { headers: { 'content-type': type }, body }), 415);
    });

    test('413: a huge body where a small one is expected', async () => {
      const { id } = await service.api.newUpload(PASSWORD_HEADERS);
      const json = { authToken: 'a'.repeat(20_000_000) };
      expectError(await send('POST', `/api/password/${id}`, { json }), 413);
    });
  });

  test('a token in two headers is no token', async () => {
    const item = await service.api.newUpload();
    const answer = await exchange(
      service.api.baseUrl,
      `GET /api/download/${item.id} HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${item.authToken}\r\nX-Auth-Token: ${token()}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect((await service.api.info(item.id)).body.downloadCount).toBe(0);
  });

  test.each([
    ['two lengths', 'POST /api/note HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
    [
      'a length and chunks',
      'POST /api/note HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a negative length', 'POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n'],
    ['a length in words', 'POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Length: five\r\n\r\n'],
    ['an unknown coding', 'POST /api/upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, foo\r\n\r\n'],
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['a NUL byte in a header', 'GET /api/config HTTP/1.1\r\nHost: x\r\nX-A: a\u0000b\r\n\r\n'],
    ['a line break in a header', 'GET /api/config HTTP/1.1\r\nHost: x\r\nX-A: a\n b: c\r\n\r\n'],
    ['a header of 100 kB', `GET /api/config HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`],
    ['an address of 100 kB', `GET /api/info/${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['no Host', 'GET /api/config HTTP/1.1\r\n\r\n'],
    ['an unknown method', 'BREW /api/note HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'an expectation nobody meets',
      'POST /api/note HTTP/1.1\r\nHost: x\r\nExpect: coffee\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    ],
  ])('JSON and 4xx, or the end of the connection: %s', async (_, bytes) => {
    const answer = await exchange(service.api.baseUrl, bytes);
    expect(answer).not.toBe('');
    expectOnlyCleanErrors(answer);
    expect((await send('GET', '/api/config')).status).toBe(200);
  });
});
