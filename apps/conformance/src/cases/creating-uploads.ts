import { skip } from '../case.ts';
import { answers, equal, holds, isId, isInvalid, refuses } from '../expect.ts';
import { PASSWORD, type ServerCase, salt, serverCase, token } from '../site.ts';

/** Headers, each with values that are refused. */
const REFUSED: Record<string, (string | undefined)[]> = {
  'X-Auth-Token': [undefined, '', 'not base64url!', 'a'.repeat(513)],
  'X-Owner-Token': [undefined, 'with+base64/characters'],
  'X-Salt': [undefined, 'AAAA', Buffer.alloc(17).toString('base64url')],
  'X-Max-Downloads': [undefined, '0', '-1', '1.0', '01', 'one', '999999937'],
  'X-Expire-Sec': [undefined, '0', '999999937'],
  'X-File-Count': [undefined, '0', '1e1'],
  'X-Has-Password': [undefined, 'yes', 'TRUE', '1'],
};

/** Contract: section 3.1. */
export const creatingUploads: ServerCase[] = [
  serverCase('3.1', 'POST /api/upload: 200 with an id and the address /d/<id>', async (site) => {
    const answer = await site.tryUpload();
    answers(answer, 200);
    const { id, url, ...rest } = answer.json as Record<string, unknown>;
    isId(id);
    holds('an address that ends in /d/<id>', String(url).endsWith(`/d/${id}`), url);
    equal('other fields', rest, {});
  }),
  ...Object.entries(REFUSED).map(([header, values]) =>
    serverCase('3.1', `POST /api/upload: 400 that names ${header}, for what it cannot be`, async (site) => {
      for (const value of values) isInvalid(await site.tryUpload({ [header]: value }), header);
    }),
  ),
  serverCase('3.1', 'POST /api/upload: 400 for more files than maxFilesPerUpload, 200 for as many', async (site) => {
    const most = site.limits.maxFilesPerUpload;
    isInvalid(await site.tryUpload({ 'X-File-Count': String(most + 1) }), 'X-File-Count');
    answers(await site.tryUpload({ 'X-File-Count': String(most) }), 200);
  }),
  serverCase('3.1', 'POST /api/upload: with a password its salt and its algorithm are needed', async (site) => {
    isInvalid(await site.tryUpload({ 'X-Has-Password': 'true' }), 'X-Password-Algo', 'X-Password-Salt');
    isInvalid(await site.tryUpload({ ...PASSWORD, 'X-Password-Algo': 'scrypt' }), 'X-Password-Algo');
    isInvalid(await site.tryUpload({ ...PASSWORD, 'X-Password-Salt': 'AAAA' }), 'X-Password-Salt');
    for (const algo of ['argon2id', 'pbkdf2'])
      answers(await site.tryUpload({ ...PASSWORD, 'X-Password-Algo': algo }), 200);
  }),
  serverCase('3.1', 'POST /api/upload: without a password the headers of one mean nothing', async (site) => {
    answers(await site.tryUpload({ 'X-Password-Salt': '???', 'X-Password-Algo': 'whatever' }), 200);
  }),
  serverCase(
    '3.1',
    'POST /api/upload: everything that is wrong is in one answer, and no value is repeated',
    async (site) => {
      const answer = await site.tryUpload({ 'X-Salt': 'a-secret-value', 'X-File-Count': 'many', 'X-Has-Password': '' });
      isInvalid(answer, 'X-File-Count', 'X-Has-Password', 'X-Salt');
      holds('no value in the answer', !answer.bytes.includes('a-secret-value'));
    },
  ),
  serverCase('3.1', 'POST /api/upload: each of expireOptionsSec and downloadOptions is taken', async (site) => {
    for (const option of site.limits.expireOptionsSec)
      answers(await site.tryUpload({ 'X-Expire-Sec': String(option) }), 200);
    for (const option of site.limits.downloadOptions)
      answers(await site.tryUpload({ 'X-Max-Downloads': String(option) }), 200);
  }),
  serverCase('3.1', 'POST /api/upload: 411 for a body whose length is not declared', async (site) => {
    refuses(await site.tryUpload({ 'Transfer-Encoding': 'chunked' }), 411, 'Content-Length is required');
  }),
  serverCase('3.1', 'POST /api/upload: 400 for a body of no bytes', async (site) => {
    isInvalid(await site.tryUpload({}, ''), 'Content-Length');
  }),
  serverCase('3.1', 'POST /api/upload: 413 above maxFileSize, before the body', async (site) => {
    const headers = site.uploadHeaders(
      { authToken: token(), ownerToken: token() },
      { 'Content-Length': String(site.limits.maxFileSize + 1) },
    );
    const answer = await site.send('POST', '/api/upload', { headers, withholdsBody: true });
    refuses(answer, 413, 'File size exceeds maximum allowed size');
  }),
  serverCase('3.1', 'POST /api/upload: 413 comes before other faults', async (site) => {
    const headers = {
      ...site.creatingHeaders(),
      'Content-Length': String(site.limits.maxFileSize + 1),
      'X-Salt': 'AAAA',
    };
    const answer = await site.send('POST', '/api/upload', { headers, withholdsBody: true });
    refuses(answer, 413, 'File size exceeds maximum allowed size');
  }),
  serverCase('3.1', 'POST /api/upload: 400 for fewer bytes than declared', async (site) => {
    const headers = site.uploadHeaders({ authToken: token(), ownerToken: token() }, { 'Content-Length': '1000' });
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const path = `${site.base.pathname.replace(/\/+$/, '')}/api/upload`;
    if (site.base.protocol === 'https:') skip('over TLS a client cannot end its half of a connection');
    isInvalid(await site.sendRaw([`POST ${path} HTTP/1.1`, ...lines].join('\r\n'), 'too short'), 'Content-Length');
  }),
  serverCase('1', 'salts are answered without padding, with unused bits zero', async (site) => {
    const plain = salt();
    const { id } = await site.upload({ 'X-Salt': `${plain}==` });
    const { json } = await site.send('GET', `/api/info/${id}`);
    equal('salt', (json as { salt: string }).salt, plain);
  }),
];
