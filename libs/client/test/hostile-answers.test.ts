import { CONFIG, NOTE_INFO, UPLOAD_INFO } from '@mayfly/testing/good-answers';
import { type HostileService, openHostileService } from '@mayfly/testing/hostile-service';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fetchTransport, MayflyClient, type MayflyError, newLease, type Transport } from '../src/index.ts';
import { deriveKeys } from '../src/keys.ts';
import { sealMessage } from '../src/message.ts';
import { nodeTransport } from '../src/node/index.ts';

const MIB = 1024 * 1024;
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const TIME = '2030-01-01T00:00:00.000Z';
const SECRET = 'A'.repeat(43);
const OWNER = { ownerSecret: 'A'.repeat(43) };
const TERMS = { expireSec: 60, maxDownloads: 1 };

const parts = { minBytes: 1, maxBytes: 1_000_000, maxParts: 1000, maxFileSize: 1e9, sessionSec: 60 };
const FULL_CONFIG = {
  ...CONFIG,
  viewRepeatSec: 60,
  downloadLeases: { idleSec: 60 },
  owner: { maxLifetimeSec: 60, noteMaxLifetimeSec: 60 },
  uploadParts: parts,
};
const VIEW = { encryptedContent: '', nonce: '', viewCount: 1, maxViews: 2 };
const BEGUN = { id: ID, url: `https://mayfly.example/d/${ID}`, endsAt: TIME };
const OWN = { state: 'available', createdAt: TIME, expiresAt: TIME, usedAt: [TIME] };

const file = { name: 'a', size: 1, stream: () => new Blob(['a']).stream() };
const unfinished = (baseUrl: string) => ({
  id: ID,
  baseUrl,
  link: `${baseUrl}/d/${ID}#${SECRET}`,
  ...OWNER,
  secret: SECRET,
  salt: 'A'.repeat(22),
  segmentsPerPart: 1,
  paddedSize: 1,
  files: [],
  endsAt: TIME,
});

type Ask = (client: MayflyClient, baseUrl: string) => Promise<unknown>;
type Fields = Record<string, unknown>;

/** Every answer that the library reads: what asks for it, its path, and a good one. */
const ANSWERS: [name: string, ask: Ask, path: RegExp, good: Fields][] = [
  ['config', (client) => client.getConfig(), /\/api\/config$/, FULL_CONFIG],
  ['info', (client, url) => client.getInfo(`${url}/d/${ID}#${SECRET}`), /\/api\/info\//, UPLOAD_INFO],
  [
    'info under a lease',
    (client, url) => client.getInfo(`${url}/d/${ID}#${SECRET}`, { lease: newLease() }),
    /\/api\/lease\/.*\/info$/,
    UPLOAD_INFO,
  ],
  [
    'arrival',
    (client, url) => client.getArrival(`${url}/d/${ID}#${SECRET}`),
    /\/api\/arrival\//,
    { state: 'arriving', length: 10, storedBytes: 5, endsAt: TIME },
  ],
  ['note', (client, url) => client.getNote(`${url}/n/${ID}#${SECRET}`), /\/api\/note\/[^/]*$/, NOTE_INFO],
  ['view', (client, url) => client.viewNote(`${url}/n/${ID}#${SECRET}`), /\/view$/, VIEW],
  [
    'a new note',
    (client) => client.createNote('a', { expireSec: 60, maxViews: 1 }),
    /\/api\/note$/,
    { id: ID, expiresAt: TIME },
  ],
  [
    'a new upload',
    (client) => client.uploadFiles([file], TERMS),
    /\/api\/upload$/,
    { id: ID, url: `https://mayfly.example/d/${ID}` },
  ],
  [
    'a new upload in parts',
    (client) => client.uploadFiles([file], { ...TERMS, uploadParts: parts, inParts: true }),
    /\/api\/parts$/,
    BEGUN,
  ],
  [
    'parts that are stored',
    (client, url) => client.getStoredBytes(unfinished(url)),
    /\/api\/parts\/[^/]*$/,
    { state: 'open', partBytes: 65_608, length: 73, stored: '1', bytes: 73, endsAt: TIME },
  ],
  [
    'status of an upload',
    (client) => client.getOwnStatus({ kind: 'upload', id: ID }, OWNER),
    /\/api\/own\/upload\//,
    { ...OWN, downloadCount: 1, maxDownloads: 2, wholeCount: 1, metaSet: true },
  ],
  [
    'status of a note',
    (client) => client.getOwnStatus({ kind: 'note', id: ID }, OWNER),
    /\/api\/own\/note\//,
    { ...OWN, viewCount: 1, maxViews: 2 },
  ],
  [
    'terms',
    (client) => client.setTerms({ kind: 'note', id: ID }, OWNER, { maxUses: 2 }),
    /\/terms$/,
    { ...OWN, viewCount: 1, maxViews: 2 },
  ],
];

/** What the library makes no use of, and so does not read. */
const UNREAD = [
  'metaSet',
  'partBytes',
  'arrival state',
  'parts that are stored length',
  'parts that are stored endsAt',
];
const DRIVES_A_TERMINAL = '\u001b[2J\u009b31m';
const ANY: unknown[] = [true, {}, [[]], { toString: 1 }];
const NUMBERS: unknown[] = [-1, 1.5, 1e300, '1', '', DRIVES_A_TERMINAL, ...ANY];
const WRONG: Record<string, unknown[]> = {
  count: [...NUMBERS, null, 2 ** 31],
  bytes: [...NUMBERS, null, 2 ** 53],
  limits: [null, 1, '1', [], [0], ['1'], [null], Array(1001).fill(1), [DRIVES_A_TERMINAL]],
  time: [
    '',
    1,
    'tomorrow',
    '2030-13-01T00:00:00.000Z',
    '+012030-01-01T00:00:00.000Z',
    `${TIME}\u001b[2J`,
    null,
    ...ANY,
  ],
  times: [null, TIME, [1], ['soon'], [DRIVES_A_TERMINAL]],
  text: [1, null, ...ANY],
  flag: [0, 1, 'true', null, {}],
  id: ['', 1, null, ID.slice(1), `${ID}/x`, DRIVES_A_TERMINAL],
  word: ['', 'constructor', '__proto__', 1, null, DRIVES_A_TERMINAL, ...ANY],
  ranges: ['1,1', '2,1', '3-1', '0', '-1', '1-', 'x', '1,2,', DRIVES_A_TERMINAL, '1-99999999999', 1, null],
  url: ['', 1, null, 'https://mayfly.example', `https://mayfly.example/n/${ID}`, DRIVES_A_TERMINAL],
};
const BYTES = ['size', 'maxFileSize', 'noteMaxSize', 'minBytes', 'maxBytes', 'length', 'storedBytes', 'bytes'];
const NULLABLE = ['passwordAlgo', 'passwordSalt', 'encryptedMeta', 'nonce', 'length'];
const MAY_BE_ABSENT = ['viewRepeatSec', 'downloadLeases', 'owner', 'uploadParts', 'wholeCount', 'stored'];

function kindOf(field: string, good: unknown): string {
  if (field === 'id' || field === 'url') return field;
  if (field === 'stored') return 'ranges';
  if (['state', 'contentType', 'passwordAlgo'].includes(field)) return 'word';
  if (BYTES.includes(field)) return 'bytes';
  if (typeof good === 'number') return 'count';
  if (typeof good === 'boolean') return 'flag';
  if (good === TIME) return 'time';
  if (Array.isArray(good)) return good[0] === TIME ? 'times' : 'limits';
  return 'text';
}

/** A good answer with one field that is wrong, of it and of what is in it. */
function* hostile(name: string, good: Fields): Generator<{ what: string; answer: Fields }> {
  for (const [field, value] of Object.entries(good)) {
    if (UNREAD.includes(field) || UNREAD.includes(`${name} ${field}`)) continue;
    if (!MAY_BE_ABSENT.includes(field)) yield { what: `no ${field}`, answer: { ...good, [field]: undefined } };
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const { what, answer } of hostile(`${name} ${field}`, value as Fields)) {
        yield { what: `${field}: ${what}`, answer: { ...good, [field]: answer } };
      }
      continue;
    }
    for (const wrong of WRONG[kindOf(field, value)] ?? []) {
      const mayBeNull = wrong === null && NULLABLE.includes(field);
      if (!mayBeNull) yield { what: `${field}: ${JSON.stringify(wrong)}`, answer: { ...good, [field]: wrong } };
    }
  }
  for (const [used, most] of [
    ['downloadCount', 'maxDownloads'],
    ['viewCount', 'maxViews'],
  ] as const) {
    if (used in good) yield { what: 'more uses than there may be', answer: { ...good, [used]: 3, [most]: 2 } };
  }
}

let service: HostileService;
beforeAll(async () => {
  service = await openHostileService();
  const keys = await deriveKeys(new Uint8Array(32), new Uint8Array(16));
  const { ciphertext, nonce } = await sealMessage(keys.note, 'mayfly v1 note text', 'x');
  VIEW.encryptedContent = Buffer.from(ciphertext).toString('base64');
  VIEW.nonce = Buffer.from(nonce).toString('base64');
});
afterAll(() => service[Symbol.asyncDispose]());
beforeEach(() => {
  service.sentBytes = 0;
});

/** Good answers to everything, but for those to one path. */
function answering(path: RegExp, body: object | string | null, status?: number, headers: Record<string, string> = {}) {
  const good = ANSWERS.map(([, , path, body]) => ({ path, body }));
  service.answer = (asked) => {
    if (path.test(asked)) return { body, headers, ...(status ? { status } : {}) };
    return { body: good.find(({ path }) => path.test(asked))?.body ?? { ok: true } };
  };
}

/** The failure, which is one of the library's own; undefined where there is none. */
async function failureOf(ask: Ask, transport: Transport = nodeTransport()): Promise<MayflyError | undefined> {
  try {
    await ask(new MayflyClient({ baseUrl: service.url, transport }), service.url);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ name: 'MayflyError' });
    return error as MayflyError;
  }
}

describe.each(ANSWERS)('%s', (name, ask, path, good) => {
  test('as it should be is taken', async () => {
    answering(path, good);
    expect(await failureOf(ask)).toBeUndefined();
  });

  test('with a field that is missing, of another type or out of range is refused', async () => {
    for (const { what, answer } of hostile(name, good)) {
      answering(path, answer);
      const failure = await failureOf(ask);
      expect([what, failure?.code]).toEqual([what, 'bad-answer']);
      expect(failure?.message).toBe("The service's answer is not one that Mayfly gives");
    }
  });

  test.each([
    ['node', nodeTransport],
    ['fetch', fetchTransport],
  ] as const)('that does not end is given up, through %s', async (_, buildTransport) => {
    answering(path, { bytes: 300 * MIB });
    expect(await failureOf(ask, buildTransport())).toMatchObject({ code: 'bad-answer' });
    // What buffers on the way hold, and the longest answer.
    expect(service.sentBytes).toBeLessThan(64 * MIB);
  });

  test('whatever JSON it is, fails with a sentence of the library', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        answering(path, JSON.stringify(value));
        const failure = await failureOf(ask);
        expect(['bad-answer', 'unavailable']).toContain(failure?.code);
      }),
      { numRuns: 25 },
    );
  });
});

describe('a refusal', () => {
  const ask: Ask = (client) => client.getConfig();

  test.each([
    ['a sentence that drives a terminal', { error: DRIVES_A_TERMINAL }],
    ['several lines', { error: 'one\ntwo' }],
    ['a sentence that turns its direction', { error: 'exe\u202ecod' }],
    ['no sentence', { error: { toString: 1 } }],
    ['a sentence of a megabyte', { error: 'x'.repeat(MIB) }],
    ['an answer that does not end', { bytes: 300 * MIB }],
    ['no object', null],
  ])('with %s is told in words of the library', async (_, body) => {
    answering(/config/, body, 400);
    expect(await failureOf(ask)).toMatchObject({
      code: 'invalid-request',
      message: 'The service does not accept this request',
    });
    expect(service.sentBytes).toBeLessThan(64 * MIB);
  });

  test('keeps the sentence, and reasons where they are what they should be', async () => {
    for (const [details, message] of [
      [{ a: ['must be b'] }, 'Invalid request; a must be b'],
      [{ a: [DRIVES_A_TERMINAL] }, 'Invalid request'],
      [{ a: { toString: 1 }, b: [[]], c: 'd' }, 'Invalid request'],
      ['text', 'Invalid request'],
      [null, 'Invalid request'],
    ] as const) {
      answering(/config/, { error: 'Invalid request', details }, 400);
      expect(await failureOf(ask)).toMatchObject({ code: 'invalid-request', message });
    }
  });

  test.each(['constructor', '__proto__', 'View limit reached '])(
    'of 410 with an unknown sentence: %s',
    async (error) => {
      answering(/config/, { error }, 410);
      expect(await failureOf(ask)).toMatchObject({ code: 'expired' });
    },
  );

  test('that leads elsewhere is repeated only as far as it can be read', async () => {
    answering(/config/, {}, 302, { location: 'https://elsewhere.example/' });
    const elsewhere = { message: 'The service is elsewhere: https://elsewhere.example/' };
    expect(await failureOf(ask)).toMatchObject(elsewhere);
    answering(/config/, {}, 302, { location: '\u009b2J' });
    expect(await failureOf(ask)).toMatchObject({ message: 'The service is elsewhere: it does not say where' });
  });

  test.each([
    ['30', 30],
    ['999999999999', 86_400],
    ['0', undefined],
    ['-1', undefined],
    ['1e9', undefined],
    ['Infinity', undefined],
    ['soon', undefined],
  ])('with Retry-After: %s asks for %s seconds', async (text, retryAfterSec) => {
    answering(/config/, {}, 429, { 'retry-after': text });
    expect((await failureOf(ask))?.retryAfterSec).toBe(retryAfterSec);
  });
});

test('parts so long that nobody can hold them are not made', async () => {
  const uploadParts = { ...parts, minBytes: 2 ** 40, maxBytes: 2 ** 41, maxParts: 1, maxFileSize: 2 ** 50 };
  const client = new MayflyClient({ baseUrl: service.url, transport: nodeTransport() });
  const sending = client.uploadFiles([file], { ...TERMS, uploadParts, inParts: true });
  await expect(sending).rejects.toMatchObject({ code: 'too-large' });
});

test('names of ranges that go on for ever take no time', async () => {
  const stored = '1-4294967295,'.repeat(70_000).slice(0, -1);
  answering(/\/api\/parts\//, { state: 'open', stored, bytes: 1 });
  expect(await failureOf((client, url) => client.getStoredBytes(unfinished(url)))).toMatchObject({
    code: 'bad-answer',
  });
});
