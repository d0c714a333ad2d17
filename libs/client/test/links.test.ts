import { describe, expect, test } from 'vitest';
import type { NoteInfo, UploadInfo } from '../src/answers.ts';
import { formatLink, MayflyClient, parseAddress, parseLink, type Transport } from '../src/index.ts';
import { parseBaseUrl } from '../src/link.ts';
import { sealUpload } from './leased-upload.ts';
import vectors from './vectors.ts';

const OLD = vectors.link.uploadText;
const NEW = vectors.link.opened.map(({ text }) => text);
const [plain = ''] = NEW;

describe.each([
  ['of 43 characters', OLD],
  ['of 48 characters', plain],
])('a link %s', (_, good) => {
  const fragment = good.split('#')[1] ?? '';
  const encoded = [...fragment].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('');

  test.each([
    ['white space around it', `\t ${good}\n`],
    ['angle brackets around it', `<${good}>`],
    ['both', ` < ${good} >\n`],
    ['a line break in it', `${good.slice(0, 40)}\r\n${good.slice(40)}`],
    ['a large letter for its kind', good.replace('/d/', '/D/')],
    ['an id in capitals', good.replace('0f8fad5b', '0F8FAD5B')],
    ['a scheme and a host in capitals', good.replace('https://mayfly.example', 'HTTPS://MAYFLY.EXAMPLE')],
    ['its own port', good.replace('mayfly.example', 'mayfly.example:443')],
    ['a slash behind the id', good.replace('#', '/#')],
    ['a query, which is left out', good.replace('#', '?utm_source=mail#')],
    ['a fragment that somebody percent-encoded', `${good.split('#')[0]}#${encoded}`],
  ])('is the same with %s', async (_, text) => {
    const link = await parseLink(text);
    expect(link).toEqual(await parseLink(good));
    expect(await formatLink(link)).toBe(good);
    expect(parseAddress(text)).toEqual({ kind: 'upload', baseUrl: 'https://mayfly.example', id: link.id });
  });

  test('keeps the path of its service', async () => {
    const text = good.replace('/d/', '/n/share/d/');
    expect(await parseLink(text)).toMatchObject({ kind: 'upload', baseUrl: 'https://mayfly.example/n/share' });
    expect(await formatLink(await parseLink(text))).toBe(text);
  });

  test.each([
    ['nothing', ''],
    ['no address', fragment],
    ['no scheme', good.replace('https://', '')],
    ['another scheme', good.replace('https:', 'ftp:')],
    ['a script', good.replace('https://mayfly.example', 'javascript:')],
    ['another letter', good.replace('/d/', '/x/')],
    ['nothing but a service', 'https://mayfly.example'],
    ['a name of somebody', good.replace('https://', 'https://known.example@')],
    ['a name and a password', good.replace('https://', 'https://known.example:443@')],
    ['something before it', `see ${good}`],
  ])('is none, and not repeated: %s', async (_, text) => {
    const message = 'This is not a link to a file or a note';
    await expect(parseLink(text)).rejects.toMatchObject({ code: 'invalid-link', message });
    expect(() => parseAddress(text)).toThrow(expect.objectContaining({ code: 'invalid-link' }));
  });

  test.each([
    ['an id that is cut', good.replace(/-[^-#]*#/, '#')],
    ['an id that is none', good.replace('0f8f', '0g8f')],
    ['no id', good.replace(/[^/]*#/, '#')],
    ['a # that somebody percent-encoded', good.replace('#', '%23')],
    ['a full stop behind it', `${good}.`],
    ['a bracket on one side', `${good}>`],
    ['something behind it', `${good} thanks`],
    ['other characters', `${good.split('#')[0]}#+${fragment.slice(1)}`],
    ['a % that encodes nothing', `${good.slice(0, -3)}%zz`],
  ])('is damaged, and not repeated: %s', async (_, text) => {
    const message = 'This link is incomplete or was changed';
    await expect(parseLink(text)).rejects.toMatchObject({ code: 'damaged-link', message });
  });
});

test('the address of a service is what its links begin with', () => {
  expect(parseBaseUrl('https://mayfly.example')).toBe('https://mayfly.example');
  expect(parseBaseUrl('http://localhost:3000/share/')).toBe('http://localhost:3000/share');
  expect(() => parseBaseUrl('mayfly.example')).toThrow(expect.objectContaining({ code: 'invalid-link' }));
});

const ID = parseAddress(OLD).id;
const SALT = Buffer.alloc(16, 3).toString('base64url');
const SAYS = {
  nothing: { hasPassword: false, passwordAlgo: null, passwordSalt: null },
  argon2id: { hasPassword: true, passwordAlgo: 'argon2id', passwordSalt: SALT },
  pbkdf2: { hasPassword: true, passwordAlgo: 'pbkdf2', passwordSalt: SALT },
  scrypt: { hasPassword: true, passwordAlgo: 'scrypt', passwordSalt: SALT },
} as const;

/** A service that says of passwords what it likes, and what it was asked. */
async function lyingService(says: object) {
  const { info } = await sealUpload(new Uint8Array(1));
  const answer = { ...info, contentType: 'text', maxViews: 1, viewCount: 0, ...says } as UploadInfo & NoteInfo;
  const asked: string[] = [];
  const transport: Transport = {
    async send({ method, url, body }) {
      asked.push(`${method} ${new URL(url).pathname}`);
      const created = { id: ID, url: `https://mayfly.example/d/${ID}`, ok: true };
      const text = new Response(JSON.stringify(body === undefined ? answer : created)).body;
      return { status: 200, header: () => undefined, body: text as ReadableStream<Uint8Array> };
    },
  };
  const unsafePasswordCost = { argon2id: { memoryKiB: 8, passes: 1 }, pbkdf2: { iterations: 1 } };
  return { client: new MayflyClient({ baseUrl: 'https://mayfly.example', transport, unsafePasswordCost }), asked };
}

describe('a service whose word on a password is not that of the link', () => {
  const [noPassword, , argon2id, , pbkdf2] = NEW;
  const LIES = [
    ['asks for one where there is none', noPassword, SAYS.argon2id, 'tampered'],
    ['asks for one where there is none, by pbkdf2', noPassword, SAYS.pbkdf2, 'tampered'],
    ['hides one', argon2id, SAYS.nothing, 'tampered'],
    ['names another algorithm', argon2id, SAYS.pbkdf2, 'tampered'],
    ['names another algorithm, the other way round', pbkdf2, SAYS.argon2id, 'tampered'],
    ['names an unknown one', argon2id, SAYS.scrypt, 'bad-answer'],
  ] as const;

  test.each(LIES)('%s: refused, and it gets no token', async (_, link = '', says, code) => {
    const { client, asked } = await lyingService(says);
    const given = { password: 'right', allowPbkdf2: true };
    const lease = { lease: 'A'.repeat(43), downloadLeases: { idleSec: 60 } };
    const tries = [
      () => client.getInfo(link),
      () => client.getInfo(link, lease),
      () => client.checkPassword(link, 'right', given),
      () => client.checkPassword(link, 'right', { ...given, ...lease }),
      () => client.download(link),
      () => client.download(link, given),
      () => client.download(link, { ...given, ...lease }),
      () => client.openContent(link, { ...given, ...lease }),
    ];
    for (const one of tries) await expect(one()).rejects.toMatchObject({ code });
    await client.endLease(link, lease.lease, given);
    expect(new Set(asked)).toEqual(
      new Set([`GET /api/info/${parseAddress(link).id}`, `GET /api/lease/${parseAddress(link).id}/info`]),
    );
  });

  test.each(LIES)('%s, for a note', async (_, upload = '', says, code) => {
    const { client, asked } = await lyingService(says);
    const link = await formatLink({ ...(await parseLink(upload)), kind: 'note' });
    await expect(client.getNote(link)).rejects.toMatchObject({ code });
    await expect(client.viewNote(link, { password: 'right', allowPbkdf2: true })).rejects.toMatchObject({ code });
    await expect(client.checkPassword(link, 'right', { allowPbkdf2: true })).rejects.toMatchObject({ code });
    expect(new Set(asked)).toEqual(new Set([`GET /api/note/${parseAddress(link).id}`]));
  });

  test('is believed where an old link says nothing', async () => {
    const { client } = await lyingService(SAYS.argon2id);
    expect(await client.getInfo(OLD)).toMatchObject({ hasPassword: true });
    await expect(client.download(OLD)).rejects.toMatchObject({ code: 'password-needed' });
  });
});

test.each([
  ['an old one', OLD],
  ['a new one', NEW[4] ?? ''],
])('pbkdf2 needs an explicit yes before a token is sent: %s', async (_, link) => {
  const { client, asked } = await lyingService(SAYS.pbkdf2);
  for (const password of [undefined, 'right']) {
    await expect(client.download(link, { password })).rejects.toMatchObject({ code: 'weak-password-algo' });
  }
  await expect(client.checkPassword(link, 'right')).rejects.toMatchObject({ code: 'weak-password-algo' });
  const { id } = parseAddress(link);
  expect(new Set(asked)).toEqual(new Set([`GET /api/info/${id}`]));
  // It is used now, and is not the right one.
  await expect(client.checkPassword(link, 'right', { allowPbkdf2: true })).rejects.toMatchObject({
    code: 'wrong-password',
  });
});

describe('a wrong password', () => {
  const [, , argon2id = '', , , sealed = ''] = NEW;
  const id = ID;
  const UNSET = { encryptedMeta: null, nonce: null };

  test('is told by the metadata, and the service gets no token', async () => {
    const { client, asked } = await lyingService(SAYS.argon2id);
    for (const link of [argon2id, OLD]) {
      await expect(client.checkPassword(link, 'wrong')).rejects.toMatchObject({ code: 'wrong-password' });
      await expect(client.download(link, { password: 'wrong' })).rejects.toMatchObject({ code: 'wrong-password' });
    }
    expect(new Set(asked)).toEqual(new Set([`GET /api/info/${id}`]));
  });

  test('is told by the service where there are no metadata yet', async () => {
    const { client, asked } = await lyingService({ ...SAYS.argon2id, ...UNSET });
    expect(await client.checkPassword(argon2id, 'any')).toMatchObject({ isUnlocked: true });
    expect(asked).toEqual([`GET /api/info/${id}`, `POST /api/password/${id}`]);
  });

  test('is told by the service where the metadata are sealed; not before there are any', async () => {
    const { client, asked } = await lyingService({ ...SAYS.argon2id, ...UNSET });
    await expect(client.checkPassword(sealed, 'any')).rejects.toMatchObject({ code: 'not-finished' });
    expect(asked).toEqual([`GET /api/info/${id}`]);
    const closed = await lyingService(SAYS.argon2id);
    // What this one answers is no share.
    await expect(closed.client.checkPassword(sealed, 'any')).rejects.toMatchObject({ code: 'bad-answer' });
    expect(closed.asked).toEqual([`GET /api/info/${id}`, `POST /api/unlock/${id}`]);
    await expect(client.getInfo(sealed)).resolves.not.toHaveProperty('metadata');
  });

  test('a service that drops the share of a new upload is found out, and what was sent is deleted', async () => {
    const { client, asked } = await lyingService({});
    const file = { name: 'a', size: 1, stream: () => new Blob(['a']).stream() };
    const options = { expireSec: 60, maxDownloads: 1, password: 'right', sealedMetadata: true };
    await expect(client.uploadFiles([file], options)).rejects.toMatchObject({ code: 'unavailable' });
    expect(asked).toEqual(['POST /api/upload', `POST /api/meta/${id}`, `DELETE /api/upload/${id}`]);
  });
});
