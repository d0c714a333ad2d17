import { query } from '@mayfly/testing/stores';
import fc from 'fast-check';
import { request } from 'undici';
import { expect, test } from 'vitest';
import reference from '../../docs/openapi.json' with { type: 'json' };
import { noteBody, PASSWORD_HEADERS, token, unknownId, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const REQUESTS = 3_000;
const AT_ONCE = 20;

type Attack = { method: string; path: string; headers: Record<string, string>; body: string | undefined };

/** Text that a header may hold: what Node refuses to send would test Node. */
const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 60,
});
const anyId = (ids: string[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...ids) },
    fc.constantFrom(unknownId, '..', '%2e%2e%2f', '%00', '%', '*', 'null', '{}'),
    fc.uuid(),
    fc.string({ maxLength: 50 }).map(encodeURIComponent),
  );

/** Requests near the contract: its paths, headers and fields, each of them kept, changed, left out or replaced. */
function attacks(ids: string[]): fc.Arbitrary<Attack> {
  const path = fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...Object.keys(reference.paths)), anyId(ids))
        .map(([path, id]) => path.replaceAll(/\{\w+\}/g, id)),
    },
    fc.constantFrom('/api/', '/api/nothing'),
    fc.string({ maxLength: 30 }).map((text) => `/api/${encodeURIComponent(text)}?q=${encodeURIComponent(text)}`),
  );
  const mutated = (fields: Record<string, unknown>, value: fc.Arbitrary<unknown>) =>
    fc
      .tuple(
        ...Object.entries(fields).map(([name, good]) =>
          fc.oneof(
            { weight: 6, arbitrary: fc.constant([name, good]) },
            { weight: 1, arbitrary: fc.constant(undefined) },
            { weight: 2, arbitrary: value.map((bad) => [name, bad]) },
          ),
        ),
      )
      .map((entries) => Object.fromEntries(entries.filter((entry) => entry !== undefined) as [string, unknown][]));
  const tokens = { authToken: token(), ownerToken: token() };
  const headers = mutated({ ...uploadHeaders(tokens), ...PASSWORD_HEADERS }, headerText).map((fields) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)])),
  );
  const json = fc.oneof(
    mutated(noteBody(), fc.jsonValue()).map((body) => JSON.stringify(body)),
    fc
      .record({ authToken: fc.jsonValue(), encryptedMeta: fc.jsonValue(), nonce: fc.jsonValue() }, { requiredKeys: [] })
      .map((body) => JSON.stringify(body)),
    fc.json(),
    fc.string({ maxLength: 200 }),
  );
  const type = fc.constantFrom(
    'application/json',
    'application/json',
    'application/octet-stream',
    'text/plain',
    'a/b; c="',
  );
  return fc
    .record({
      method: fc.constantFrom('GET', 'POST', 'POST', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'),
      path,
      headers,
      type,
      body: fc.option(json, { nil: undefined }),
    })
    .map(({ type, headers, ...attack }) => ({ ...attack, headers: { ...headers, 'content-type': type } }));
}

describeEachShape('fuzz', {}, (service) => {
  test(`${REQUESTS} mutated requests: never a 5xx, always JSON, nothing spent, the service goes on`, async () => {
    const upload = await service.api.newUpload({ 'X-Max-Downloads': '1' });
    const note = await service.api.newNote({ maxViews: 1 });
    const samples = fc.sample(attacks([upload.id, note.id, upload.id.toUpperCase()]), REQUESTS);
    const problems: string[] = [];
    const statuses = new Map<number, number>();

    const send = async ({ method, path, headers, body }: Attack) => {
      const hasBody = body !== undefined && !['GET', 'HEAD'].includes(method);
      const answer = await request(service.api.baseUrl + path, {
        method: method as 'GET',
        headers,
        ...(hasBody ? { body } : {}),
      });
      const text = await answer.body.text();
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
      const isClean =
        answer.statusCode < 500 &&
        (method === 'HEAD' || text === '' ? answer.statusCode === 204 || method === 'HEAD' : isAnswer(text));
      if (!isClean || /node_modules|FST_|at .*\.ts:/.test(text))
        problems.push(`${method} ${path}: ${answer.statusCode} ${text}`);
    };
    for (let index = 0; index < samples.length; index += AT_ONCE) {
      await Promise.all(samples.slice(index, index + AT_ONCE).map(send));
    }

    expect(problems).toEqual([]);
    expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining([400, 401, 404, 405]));
    expect((await service.api.download(upload.id, upload.authToken)).status).toBe(200);
    expect((await service.api.view(note.id, note.authToken)).body.viewCount).toBe(1);
    expect(await query(service.running.databaseUrl, `select id from files.uploads where state = 'pending'`)).toEqual(
      [],
    );
    for (const { name, child, output } of service.running.processes) {
      expect(child.exitCode, `${name} is running`).toBeNull();
      expect(output()).not.toMatch(/"level":50|uncaught|unhandled/i);
    }
  });
});

function isAnswer(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null;
  } catch {
    return false;
  }
}
