import { randomBytes } from 'node:crypto';
import { answers, equal, holds, isInvalid, isTime, refuses } from '../expect.ts';
import { META, PASSWORD, type ServerCase, type Site, serverCase, token, UNKNOWN } from '../site.ts';

const NOT_FOUND = 'Upload not found';
const infoOf = async (site: Site, id: string) => {
  const answer = await site.send('GET', `/api/info/${id}`);
  answers(answer, 200);
  return answer.json as Record<string, unknown>;
};
const check = (site: Site, id: string, authToken: unknown) =>
  site.send('POST', `/api/password/${id}`, { json: { authToken } });

/** Contract: sections 3.2 to 3.7. */
export const usingUploads: ServerCase[] = [
  serverCase('3.2', 'POST /api/meta/<id>: 200 once, then 409, and what was set stays', async (site) => {
    const { id, ownerToken } = await site.upload();
    answers(await site.setMeta(id, ownerToken), 200, { ok: true });
    const other = { ...META, encryptedMeta: randomBytes(60).toString('base64') };
    refuses(await site.setMeta(id, ownerToken, other), 409, 'Metadata already set');
    equal('encryptedMeta', (await infoOf(site, id)).encryptedMeta, META.encryptedMeta);
  }),
  serverCase('3.2', 'POST /api/meta/<id>: 400, 404 and 401, in this order', async (site) => {
    const { id, ownerToken } = await site.upload();
    isInvalid(await site.setMeta(UNKNOWN, token(), {}), 'encryptedMeta', 'nonce');
    isInvalid(await site.setMeta(id, ownerToken, { ...META, encryptedMeta: 'base64url_only-' }), 'encryptedMeta');
    isInvalid(await site.setMeta(id, ownerToken, []), 'body');
    refuses(await site.setMeta(UNKNOWN, token()), 404, NOT_FOUND);
    refuses(await site.setMeta(id, token()), 401, 'Invalid or missing owner token');
    refuses(await site.setMeta(id), 401, 'Invalid or missing owner token');
    equal('encryptedMeta', (await infoOf(site, id)).encryptedMeta, null);
  }),
  serverCase('3.2', 'POST /api/meta/<id>: 413 above 256 KiB, before the body', async (site) => {
    const { id, ownerToken } = await site.upload();
    const headers = { 'X-Owner-Token': ownerToken, 'Content-Type': 'application/json', 'Content-Length': '270000' };
    const answer = await site.send('POST', `/api/meta/${id}`, { headers, withholdsBody: true });
    refuses(answer, 413, 'Payload Too Large');
  }),
  serverCase('3.3', 'GET /api/info/<id>: 200 with exactly these fields', async (site) => {
    const { id, payload } = await site.upload({ 'X-File-Count': '1' });
    const { createdAt, expiresAt, salt, maxDownloads, ...rest } = await infoOf(site, id);
    isTime('createdAt', createdAt);
    isTime('expiresAt', expiresAt);
    holds('a salt of 16 bytes', /^[\w-]{22}$/.test(String(salt)), salt);
    holds('maxDownloads, an integer', Number.isSafeInteger(maxDownloads), maxDownloads);
    equal('other fields', rest, {
      id,
      size: payload.length,
      fileCount: 1,
      hasPassword: false,
      passwordAlgo: null,
      passwordSalt: null,
      encryptedMeta: null,
      nonce: null,
      downloadCount: 0,
    });
  }),
  serverCase('3.3', 'GET /api/info/<id>: password and metadata as they were sent', async (site) => {
    const { id, ownerToken } = await site.upload(PASSWORD);
    await site.setMeta(id, ownerToken);
    const { hasPassword, passwordAlgo, passwordSalt, encryptedMeta, nonce } = await infoOf(site, id);
    const algo = PASSWORD['X-Password-Algo'];
    equal('password', [hasPassword, passwordAlgo, passwordSalt], [true, algo, PASSWORD['X-Password-Salt']]);
    equal('metadata', { encryptedMeta, nonce }, META);
  }),
  serverCase('1', 'an id in upper case finds the same upload; what is no id is unknown', async (site) => {
    const { id } = await site.upload();
    equal('id', (await infoOf(site, id.toUpperCase())).id, id);
    for (const none of ['1', '..%2f..%2fetc', '%zz', `${id}0`, '00000000-0000-1000-8000-000000000000'])
      refuses(await site.send('GET', `/api/info/${none}`), 404, NOT_FOUND);
  }),
  serverCase('3.4', 'GET /api/exists/<id>: 200 and 404', async (site) => {
    const { id } = await site.upload();
    answers(await site.send('GET', `/api/exists/${id}`), 200, { exists: true });
    answers(await site.send('GET', `/api/exists/${UNKNOWN}`), 404, { exists: false });
  }),
  serverCase('3.5', 'POST /api/password/<id>: 200, and 401 for a wrong token', async (site) => {
    const { id, authToken } = await site.upload(PASSWORD);
    answers(await check(site, id, authToken), 200, { ok: true });
    refuses(await check(site, id, token()), 401, 'Invalid password');
  }),
  serverCase('3.5', 'POST /api/password/<id>: 400, 404, and 400 without a password', async (site) => {
    const { id, authToken } = await site.upload();
    isInvalid(await check(site, UNKNOWN, undefined), 'authToken');
    isInvalid(await check(site, id, 'not base64url!'), 'authToken');
    refuses(await check(site, UNKNOWN, token()), 404, NOT_FOUND);
    refuses(await check(site, id, authToken), 400, 'Upload is not password protected');
  }),
  serverCase('3.6', 'GET /api/download/<id>: 200 with the payload as it was sent, and its headers', async (site) => {
    const { id, authToken, payload } = await site.upload({}, randomBytes(200_000));
    const { status, headers, bytes } = await site.download(id, authToken);
    equal('status', status, 200);
    holds('the same bytes', bytes.equals(payload), `${bytes.length} bytes`);
    equal('Content-Type', headers['content-type'], 'application/octet-stream');
    equal('Content-Length', headers['content-length'], String(payload.length));
    equal('Cache-Control', headers['cache-control'], 'no-store');
    equal('X-File-Count', headers['x-file-count'], '1');
    equal('downloadCount', (await infoOf(site, id)).downloadCount, 1);
  }),
  serverCase('3.6', 'GET /api/download/<id>: a Range is ignored', async (site) => {
    const { id, authToken, payload } = await site.upload();
    const headers = { 'X-Auth-Token': authToken, Range: 'bytes=0-9' };
    const { status, bytes } = await site.send('GET', `/api/download/${id}`, { headers });
    equal('status', status, 200);
    equal('length', bytes.length, payload.length);
  }),
  serverCase('3.6', 'GET /api/download/<id>: 404, and 401 for a wrong or missing token', async (site) => {
    const { id } = await site.upload();
    refuses(await site.download(UNKNOWN, token()), 404, NOT_FOUND);
    refuses(await site.download(id, token()), 401, 'Invalid or missing auth token');
    refuses(await site.download(id), 401, 'Invalid or missing auth token');
  }),
  serverCase('3.7', 'DELETE /api/upload/<id>: 401, then 200, and then 404 everywhere', async (site) => {
    const { id, authToken, ownerToken } = await site.upload(PASSWORD);
    refuses(await site.delete(`/api/upload/${id}`, token()), 401, 'Invalid or missing owner token');
    refuses(await site.delete(`/api/upload/${id}`), 401, 'Invalid or missing owner token');
    answers(await site.delete(`/api/upload/${id}`, ownerToken), 200, { ok: true });
    refuses(await site.delete(`/api/upload/${id}`, ownerToken), 404, NOT_FOUND);
    refuses(await site.send('GET', `/api/info/${id}`), 404, NOT_FOUND);
    refuses(await site.download(id, authToken), 404, NOT_FOUND);
    refuses(await check(site, id, authToken), 404, NOT_FOUND);
    refuses(await site.setMeta(id, ownerToken), 404, NOT_FOUND);
    answers(await site.send('GET', `/api/exists/${id}`), 404, { exists: false });
  }),
];
