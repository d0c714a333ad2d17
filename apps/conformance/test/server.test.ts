import { createHash } from 'node:crypto';
import { inSuite } from '@mayfly/testing/in-suite';
import { type RunningShape, SHAPES, startShape } from '@mayfly/testing/shapes';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { type Fault, json, openAlteringProxy } from './altering-proxy.ts';
import { runKit } from './run-kit.ts';

const LIMITS = {
  maxFileSize: 1000,
  maxFilesPerUpload: 2,
  expireOptionsSec: [60],
  downloadOptions: [1],
  noteMaxSize: 1000,
  noteExpireOptionsSec: [60],
  noteViewOptions: [1],
};

/** Limits that a case reaches in seconds, and that the others keep. */
const SOON_EXHAUSTED = {
  RATE_LIMIT_MAX: '1500',
  RATE_LIMIT_WINDOW_SEC: '20',
  BODY_RATE_WINDOW_SEC: '3',
  TOKEN_FAILURES_MAX: '20',
};

/** Items of a service that can be used. */
async function liveItems({ databaseUrl }: RunningShape): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT (SELECT count(*) FROM files.uploads WHERE state IN ('pending', 'available'))
            + (SELECT count(*) FROM notes.notes WHERE state = 'available') AS live`,
    );
    return Number(rows[0].live);
  } finally {
    await client.end();
  }
}

describe.each(SHAPES)('the contract, on %s', (shape) => {
  const running = inSuite(() => startShape(shape, SOON_EXHAUSTED));

  test('every case passes, and nothing is left behind', async () => {
    const { code, out, report, junit, failed, skipped } = await runKit(['--base', running().baseUrl, '--exhaust']);
    expect([failed, skipped]).toEqual([[], []]);
    expect(report?.passed).toBeGreaterThan(70);
    expect(code).toBe(0);
    expect(out).toContain(`\n${report?.passed} passed, 0 failed, 0 skipped\n`);
    expect(junit?.match(/<testcase /g)).toHaveLength(report?.passed ?? 0);
    expect(await liveItems(running())).toBe(1); // the one whose owner has guessed too often
  });
});

const ONCE = 'of more downloads at once than there are, exactly that many succeed';
const USED_UP = 'a used-up upload is 410 everywhere, with its reason';
const DOWNLOADED = 'GET /api/download/<id>: 200 with the payload as it was sent, and its headers';

/** Faults, each with all the cases that have to fail for it. */
const FAULTS: Record<string, { fault: Fault; fails: string[] }> = {
  'a wrong status': {
    fault: {
      answered(answer, { path }) {
        if (path.startsWith('/api/meta/') && answer.status === 409) answer.status = 400;
      },
    },
    fails: ['POST /api/meta/<id>: 200 once, then 409, and what was set stays'],
  },
  'a body with a field too many': {
    fault: {
      answered(answer, { path }) {
        if (!path.startsWith('/api/exists/') || answer.status !== 200) return;
        answer.body = Buffer.from('{"exists":true,"size":1000}');
      },
    },
    fails: ['GET /api/exists/<id>: 200 and 404'],
  },
  'a header that is missing': {
    fault: {
      answered({ headers }) {
        delete headers['x-file-count'];
      },
    },
    fails: [DOWNLOADED],
  },
  'a bit that is flipped': {
    fault: {
      answered({ body, status }, { path }) {
        if (path.startsWith('/api/download/') && status === 200) body[99] = (body[99] ?? 0) ^ 1;
      },
    },
    fails: [DOWNLOADED],
  },
  'one download too many': {
    fault: {
      asked({ headers }) {
        if (headers['x-max-downloads'] === '1') headers['x-max-downloads'] = '2';
        return undefined;
      },
    },
    fails: [ONCE, USED_UP],
  },
  'a delete that deletes nothing': {
    fault: {
      asked: ({ method, path, headers }) =>
        method === 'DELETE' && path.startsWith('/api/note/') && headers['x-owner-token']
          ? json(200, { ok: true })
          : undefined,
    },
    fails: ['DELETE /api/note/<id>: 401, then 200, and then 404 everywhere'],
  },
  'a token that is not looked at': {
    fault: {
      answered(answer, { path }) {
        if (/^\/api\/note\/.*\/password$/.test(path) && answer.status === 401)
          Object.assign(answer, json(200, { ok: true }));
      },
    },
    fails: ['POST /api/note/<id>/password: 200, and 401 for a wrong token'],
  },
  'a repeated view that counts': {
    fault: {
      asked({ headers }) {
        if (headers['idempotency-key'] !== '"short"') delete headers['idempotency-key'];
        return undefined;
      },
    },
    fails: [
      'POST /api/note/<id>/view: the same again under its Idempotency-Key, uncounted, and 400 for what is no key',
    ],
  },
  'a cache that is allowed to keep what does not exist': {
    fault: {
      answered({ headers, status }) {
        if (status === 404) headers['cache-control'] = 'max-age=60';
      },
    },
    fails: ['every answer says no-store and nosniff'],
  },
};

describe('a server that breaks things', () => {
  const running = inSuite(() => startShape(SHAPES[0] ?? 'all'));

  test.each(Object.entries(FAULTS))('%s: its case fails, and no other one', async (_, { fault, fails }) => {
    await using proxy = await openAlteringProxy(running().baseUrl, fault);
    const { code, report, failed } = await runKit(['--base', proxy.url, '--wait', '0']);
    // The proxy understands HTTP, so these never reach the service.
    const ofTheProxy = [
      '400 for what is not HTTP',
      '404 for an address in absolute form',
      '417',
      '431',
      'POST /api/upload: 400 for fewer bytes',
    ];
    const names = failed.map(({ name }) => name).filter((name) => !ofTheProxy.some((text) => name.startsWith(text)));
    expect(names).toEqual(fails);
    expect(report?.passed).toBeGreaterThan(50);
    expect(code).toBe(1);
  });

  test('who is told to wait waits, and goes on', async () => {
    let refused = 0;
    const asked = () => (refused++ < 2 ? json(429, { error: 'Too many requests' }, { 'retry-after': '1' }) : undefined);
    await using proxy = await openAlteringProxy(running().baseUrl, { asked });
    const { code, report } = await runKit(['--base', proxy.url, '--only', '3.4 ']);
    expect([code, report?.passed, report?.failed]).toEqual([0, 1, 0]);
    expect(refused).toBeGreaterThan(2);
  });

  test('who is told to wait for an hour skips, and says why', async () => {
    const asked = ({ path }: { path: string }) =>
      path === '/api/config' ? undefined : json(429, { error: 'Upload quota exceeded' }, { 'retry-after': '3600' });
    await using proxy = await openAlteringProxy(running().baseUrl, { asked });
    const { code, report, skipped } = await runKit(['--base', proxy.url, '--only', '3.']);
    expect([code, report?.passed, report?.failed]).toEqual([0, 0, 0]);
    const reasons = [...new Set(skipped.map(({ reason }) => reason))].toSorted();
    expect(reasons).toEqual([
      'the server limits its clients (429)',
      'the server limits its clients (429), and asks to wait 3600 s',
    ]);
  });

  test('what its limits make impossible is skipped, and says why', async () => {
    const limits = {
      expireOptionsSec: [86_400],
      noteExpireOptionsSec: [86_400],
      downloadOptions: [100],
      noteViewOptions: [100],
    };
    const answered: Fault['answered'] = (answer, { path }) => {
      if (path === '/api/config')
        answer.body = Buffer.from(JSON.stringify({ ...JSON.parse(String(answer.body)), ...limits }));
    };
    await using proxy = await openAlteringProxy(running().baseUrl, { answered });
    const { code, skipped } = await runKit(['--base', proxy.url, '--only', '2 ']);
    expect(code).toBe(0);
    expect(skipped.map(({ reason }) => reason)).toEqual([
      'the smallest limit is 100',
      'the smallest limit is 100',
      'the smallest limit is 100',
      'the smallest limit is 100',
      'the shortest expiry is 86400 s; --wait 86400 waits so long',
      'the shortest expiry is 86400 s; --wait 86400 waits so long',
    ]);
  });

  test('a server that is none, and one without limits: 2, with a reason', async () => {
    await using proxy = await openAlteringProxy(running().baseUrl, { asked: () => json(200, { fileMaxSize: 1 }) });
    const without = await runKit(['--base', proxy.url]);
    expect([without.code, without.report]).toEqual([2, undefined]);
    expect(without.err).toContain('GET /api/config has no limits to go by');
    expect((await runKit(['--base', 'http://127.0.0.1:9'])).code).toBe(2);
    expect((await runKit(['--base', 'not an address'])).err).toContain('--base takes an address');
    expect((await runKit([])).err).toContain('either --base or --client is needed');
    expect((await runKit(['--base', running().baseUrl, '--only', 'no such case'])).err).toContain(
      'no case holds this text',
    );
  });

  test('a server that closes every connection fails every case, and does not hold the kit up', async () => {
    await using proxy = await openAlteringProxy('http://127.0.0.1:9', {
      asked: ({ path }) => (path === '/api/config' ? json(200, LIMITS) : undefined),
    });
    const { code, report } = await runKit(['--base', proxy.url, '--only', '3.']);
    expect([code, report?.passed, report?.skipped]).toEqual([1, 0, 0]);
  });
});

const STALLED = '408 for a body that stops coming, and the connection ends';
const GUESSED = '429 after wrong tokens for one item, and for no other';
const NONE_LEFT = '429 when no request is left, as RateLimit has said, and health is answered all the same';

const FAULTS_OF_LIMITS: Record<string, { answered: Fault['answered']; fails: string[] }> = {
  'another status for a slow body': {
    answered(answer) {
      if (answer.status === 408) answer.status = 400;
    },
    fails: [STALLED],
  },
  'a refusal that does not say for how long': {
    answered({ status, headers }, { method }) {
      // Deletions are those of the kit, which would try them again for half a minute.
      if (status === 429 && method !== 'DELETE') delete headers['retry-after'];
    },
    fails: [GUESSED, NONE_LEFT],
  },
  'an item that is locked for its recipient only': {
    answered(answer, { path }) {
      if (path.startsWith('/api/download/') && answer.status === 429) answer.status = 401;
    },
    fails: [GUESSED],
  },
  'requests that are left and are not': {
    answered({ status, headers }) {
      if (status === 429) headers.ratelimit = '"requests";r=5;t=1';
    },
    fails: [NONE_LEFT],
  },
};

describe('a server whose limits are not those of the contract', () => {
  const running = inSuite(() => startShape('all', { ...SOON_EXHAUSTED, TRUST_PROXY: '1' }));
  let clients = 0;

  test.each(Object.entries(FAULTS_OF_LIMITS))('%s: its case fails', async (_, { answered, fails }) => {
    const address = `203.0.113.${clients++}`; // another one each time, which has nothing to wait for
    const asked: Fault['asked'] = ({ headers }) => {
      headers['x-forwarded-for'] = address;
      return undefined;
    };
    await using proxy = await openAlteringProxy(running().baseUrl, { asked, ...(answered ? { answered } : {}) });
    const { report, failed } = await runKit(['--base', proxy.url, '--exhaust', '--only', '7 4']);
    const tried = [STALLED, GUESSED, NONE_LEFT];
    expect(failed.map(({ name }) => name).filter((name) => tried.includes(name))).toEqual(fails);
    expect(report?.results.filter(({ name }) => tried.includes(name))).toHaveLength(tried.length);
  });
});

describe('a server on which creating takes a key', () => {
  test('is tried with MAYFLY_KEY, and without it as far as that goes', async () => {
    const key = `mfk_${'k'.repeat(22)}`;
    await using running = await startShape('all', {
      CREATE_GUARD: 'key',
      CREATE_KEYS: createHash('sha256').update(key).digest('hex'),
    });
    const without = await runKit(['--base', running.baseUrl, '--only', '3.']);
    expect(new Set(without.skipped.map(({ reason }) => reason))).toEqual(
      new Set(['creating takes a key here: MAYFLY_KEY']),
    );
    expect([without.code, without.report?.passed]).toEqual([0, 0]);
    const withKey = await runKit(['--base', running.baseUrl], { env: { MAYFLY_KEY: key } });
    expect([withKey.failed, withKey.code]).toEqual([[], 0]);
    expect(`${withKey.out}${withKey.junit}`).not.toContain(key);
  });
});
