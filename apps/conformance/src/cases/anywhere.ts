import { skip } from '../case.ts';
import { answers, equal, holds, isTime, refuses } from '../expect.ts';
import { limitsOf } from '../limits.ts';
import { type ServerCase, serverCase, UNKNOWN } from '../site.ts';

/** Addresses that answer in different ways. */
const SEVERAL = ['/api/config', `/api/info/${UNKNOWN}`, `/api/note/${UNKNOWN}`, '/api/no-such-path'];

/** Contract: sections 1, 5 and what section 7 says of every address. */
export const anywhere: ServerCase[] = [
  serverCase('1', 'every answer says no-store and nosniff', async (site) => {
    for (const path of SEVERAL) {
      const { headers } = await site.send('GET', path);
      equal(`Cache-Control of ${path}`, headers['cache-control'], 'no-store');
      equal(`X-Content-Type-Options of ${path}`, headers['x-content-type-options'], 'nosniff');
    }
  }),
  serverCase('1', 'every answer has an X-Request-Id of its own, whatever the client sends', async (site) => {
    const sent = { 'X-Request-Id': 'chosen-by-the-client' };
    const ids = [sent['X-Request-Id']];
    for (const path of SEVERAL)
      ids.push(String((await site.send('GET', path, { headers: sent })).headers['x-request-id']));
    equal('number of different ids', new Set(ids).size, SEVERAL.length + 1);
    holds('an X-Request-Id in every answer', !ids.includes('undefined'), ids);
  }),
  serverCase('5', 'GET /api/config: 200 with the limits', async (site) => {
    limitsOf(await site.send('GET', '/api/config'));
  }),
  serverCase('5', 'GET /api/health: 200 with status, version, timestamp and components', async (site) => {
    const answer = await site.send('GET', '/api/health');
    const { status, version, timestamp, components } = answer.json as Record<string, unknown>;
    if (answer.status === 503 && status === 'degraded') skip('the server says that it is degraded');
    answers(answer, 200);
    equal('status', status, 'ok');
    holds('a version', typeof version === 'string' && version !== '', version);
    isTime('timestamp', timestamp);
    equal('components', components, { files: 'ok', notes: 'ok', redis: 'ok' });
  }),
  serverCase('7', '404 for a path that is none', async (site) => {
    refuses(await site.send('GET', '/api/no-such-path'), 404, 'Not Found');
    refuses(await site.send('POST', '/api/upload/extra/path'), 404, 'Not Found');
  }),
  serverCase('7', '404 for an address in absolute form', async (site) => {
    const answer = await site.sendRaw(`GET ${site.base.origin}/api/config HTTP/1.1`);
    equal('status', answer.status, 404);
  }),
  serverCase('7', '405 with Allow for a method that the path does not have', async (site) => {
    const wrong = [
      ['GET', '/api/upload', 'POST'],
      ['PUT', '/api/note', 'POST'],
      ['POST', `/api/info/${UNKNOWN}`, 'GET'],
      ['POST', '/api/config', 'GET'],
    ] as const;
    for (const [method, path, allowed] of wrong) {
      const answer = await site.send(method, path);
      refuses(answer, 405, 'Method Not Allowed');
      equal(`Allow of ${path}`, answer.headers.allow, allowed);
    }
  }),
  serverCase('7', '405 for HEAD', async (site) => {
    for (const path of ['/api/config', `/api/info/${UNKNOWN}`])
      equal(`status of HEAD ${path}`, (await site.send('HEAD', path)).status, 405);
  }),
  serverCase('7', '415 for a body that is not application/json', async (site) => {
    const headers = { 'Content-Type': 'text/plain', ...site.creatingHeaders() };
    refuses(await site.send('POST', '/api/note', { body: '{}', headers }), 415, 'Unsupported Media Type');
  }),
  serverCase('7', '417 for an Expect other than 100-continue', async (site) => {
    const answer = await site.sendRaw('GET /api/config HTTP/1.1\r\nExpect: the-unexpected');
    refuses(answer, 417, 'Expectation Failed');
  }),
  serverCase('7', '431 for headers that are too large', async (site) => {
    const answer = await site.sendRaw(`GET /api/config HTTP/1.1\r\nX-Large: ${'x'.repeat(70_000)}`);
    refuses(answer, 431, 'Request Header Fields Too Large');
  }),
  serverCase('7', '400 for what is not HTTP, and for HTTP/1.1 without Host', async (site) => {
    refuses(await site.sendBytes('what is this\r\n\r\n'), 400, 'Bad Request');
    refuses(await site.sendBytes('GET /api/config HTTP/1.1\r\n\r\n'), 400, 'Bad Request');
  }),
  serverCase('7', 'a counted answer has RateLimit and RateLimit-Policy', async (site) => {
    const { headers } = await site.send('GET', '/api/config');
    const { ratelimit, 'ratelimit-policy': policy } = headers;
    if (!ratelimit && !policy) skip('the server counts no requests, or does not say that it does');
    holds('RateLimit-Policy with q and w', /^"requests";q=\d+;w=\d+$/.test(String(policy)), policy ?? null);
    holds('RateLimit with r and t', /^"requests";r=\d+;t=\d+$/.test(String(ratelimit)), ratelimit ?? null);
  }),
];
