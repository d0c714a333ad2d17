import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { call } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

/** All that can be switched on without a choice that is the operator's is there. */
const SETTINGS = {
  WEBHOOK_HOSTS: 'hooks.example',
  REPORTS: 'on',
  WORK: 'adaptive',
  EXPIRE_OPTIONS_SEC: '300,3600,86400,604800',
  NOTE_EXPIRE_OPTIONS_SEC: '300,3600,86400,604800',
};

describeEachShape('the API reference', SETTINGS, (service) => {
  const document = () => call('GET', `${service.api.baseUrl}/api/openapi.json`);

  test('GET /api/health: 200 with version, time and components', async () => {
    const answer = await call('GET', `${service.api.baseUrl}/api/health`);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        status: 'ok',
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
        components: { files: 'ok', notes: 'ok', redis: 'ok' },
      },
    ]);
  });

  test('GET /api/config: 200 with the limits', async () => {
    const answer = await call('GET', `${service.api.baseUrl}/api/config`);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        maxFileSize: 2049 * 1024 ** 2,
        maxFilesPerUpload: 32,
        expireOptionsSec: [300, 3600, 86_400, 604_800],
        downloadOptions: [1, 2, 3, 4, 5, 10, 20, 50, 100],
        noteMaxSize: 1024 ** 2,
        noteExpireOptionsSec: [300, 3600, 86_400, 604_800],
        noteViewOptions: [1, 2, 3, 5, 10, 20, 50, 100],
        viewRepeatSec: 120,
        downloadLeases: { idleSec: 3600 },
        owner: { maxLifetimeSec: 604_800, noteMaxLifetimeSec: 604_800 },
        notices: { webhooks: true },
        sealedMetadata: true,
        requests: {
          expireOptionsSec: [3600, 86_400, 604_800, 2_592_000],
          dropOptions: [1, 5, 10, 50, 100],
          maxBytes: 20 * 1024 ** 3,
        },
        reports: {},
        work: { requests: 100 },
        uploadParts: {
          minBytes: 5 * 1024 ** 2,
          maxBytes: 99_000_000,
          maxParts: 1000,
          maxFileSize: 2049 * 1024 ** 2,
          sessionSec: 86_400,
        },
      },
    ]);
  });

  test('every endpoint that it describes can be reached', async () => {
    const { paths } = (await document()).body as { paths: Record<string, Record<string, unknown>> };
    for (const [path, methods] of Object.entries(paths)) {
      const { status, headers } = await call('PATCH', service.api.baseUrl + path.replaceAll(/\{\w+\}/g, 'x'));
      const known = Object.keys(methods).map((method) => method.toUpperCase());
      expect([path, status, String(headers.allow).split(', ').sort()]).toEqual([path, 405, known.sort()]);
    }
  });

  test('a linter finds nothing wrong with it', async () => {
    const config = await createConfig({
      extends: ['recommended'],
      rules: {
        'operation-4xx-response': 'off', // health and config have nothing to refuse
        'no-ambiguous-paths': 'off', // a part's number is a number, and `complete` is none
        'no-required-schema-properties-undefined': 'off', // `then` requires what the schema around it defines
      },
    });
    const problems = await lintFromString({ source: (await document()).text, config });
    expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual(
      [],
    );
  });

  test('the page to read it comes from here alone', async () => {
    const page = await call('GET', `${service.api.baseUrl}/api/docs/`);
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.headers['content-security-policy']).toEqual(expect.any(String));
    expect(page.text).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  test('docs/openapi.json is what a service with the default settings, notices, reports and work answers (npm test -- reference -u writes it)', async () => {
    const { body } = await document();
    const anyVersion = { ...body, info: { ...(body.info as object), version: 'any' }, servers: [{ url: '/' }] };
    await expect(`${JSON.stringify(anyVersion, null, 2)}\n`).toMatchFileSnapshot('../../docs/openapi.json');
  });
});
