import { rm, writeFile } from 'node:fs/promises';
import { MayflyClient, parseLink } from '@mayfly/client';
import { FileRequests } from '@mayfly/client/requests';
import { query } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { META, PASSWORD_HEADERS, token } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';
import { PartsApi, payloadOf } from '../support/parts.ts';
import { RequestsApi } from '../support/requests.ts';

/** All rows of all tables, as text. */
async function everythingInTheDatabase(url: string): Promise<string> {
  const tables = await query<{ name: string }>(
    url,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  );
  const contents: string[] = [];
  for (const { name } of tables) {
    const rows = await query(url, `select row_to_json(t)::text as row from ${name} as t`);
    contents.push(...rows.map(({ row }) => `${name} ${row}`));
  }
  return contents.join('\n');
}

/** A token in each form in which it could be written down. */
const formsOf = (value: string) => {
  const bytes = Buffer.from(value, 'base64url');
  return [value, bytes.toString('hex'), bytes.toString('base64'), Buffer.from(value).toString('hex')];
};

function tests(service: ShapeUnderTest) {
  test('the database holds hashes of tokens and never a token; no log holds a token, an id or an address', async () => {
    const upload = await service.api.newUpload(PASSWORD_HEADERS);
    await service.api.setMeta(upload.id, upload.ownerToken);
    await service.api.checkPassword(upload.id, upload.authToken);
    await service.api.download(upload.id, upload.authToken);
    const note = await service.api.newNote();
    await service.api.view(note.id, note.authToken);
    const wrong = token();
    await service.api.download(upload.id, wrong);
    await service.api.view(note.id, wrong);
    const deleted = await service.api.newUpload();
    await service.api.deleteUpload(deleted.id, deleted.ownerToken);

    const parts = new PartsApi(service.api);
    const inParts = await parts.begun(payloadOf(2), { 'X-Announce': 'true' });
    const cancelled = await parts.begun(payloadOf(2));
    await parts.send(inParts, 1);
    await parts.put(inParts.id, 2, wrong, Buffer.alloc(1_000));
    await parts.state(inParts.id, inParts.ownerToken);
    await parts.arrival(inParts.id);
    await parts.complete(inParts.id, wrong, { length: inParts.payload.length });
    await parts.complete(inParts.id, inParts.ownerToken, { length: inParts.payload.length });
    await parts.cancel(cancelled.id, wrong);
    await parts.cancel(cancelled.id, cancelled.ownerToken);

    const requests = new RequestsApi(service.api);
    const request = await requests.ask();
    await requests.info(request.id);
    await requests.drop(request.id, { id: inParts.id, ownerToken: wrong });
    await requests.drop(request.id, inParts, { enc: 'ZW5jYXBzdWxhdGVk', sealed: 'c2VhbGVk' });
    await requests.drops(request.id, wrong);
    await requests.drops(request.id, request.ownerToken);

    const secrets = [upload, note, deleted, inParts, cancelled]
      .flatMap(({ authToken, ownerToken }) => [authToken, ownerToken])
      .concat(wrong, request.ownerToken);
    const database = await everythingInTheDatabase(service.running.databaseUrl);
    expect(database).toContain(upload.id);
    expect(database).toContain(META.encryptedMeta);
    const logs = service.running.processes.map(({ output }) => output()).join('\n');
    expect(logs).toContain('"route":"/api/download/:id"');
    for (const form of secrets.flatMap(formsOf)) {
      expect(database).not.toContain(form);
      expect(logs).not.toContain(form);
    }
    for (const canary of [
      upload.id,
      note.id,
      inParts.id,
      cancelled.id,
      request.id,
      request.publicKey,
      request.greeting,
      'ZW5jYXBzdWxhdGVk',
      META.encryptedMeta,
      note.encryptedContent,
      '"remoteAddress"',
    ]) {
      expect(logs).not.toContain(canary);
    }
  });

  test('neither database nor logs hold anything that opens a drop, or what its request says', async () => {
    const { baseUrl, databaseUrl, processes } = service.running;
    const requests = new FileRequests({ baseUrl });
    const limits = { maxDrops: 1, maxBytes: 100_000, dropExpireSec: 3600, dropMaxDownloads: 1, expireSec: 3600 };
    const { id, dropLink, keepLink } = await requests.create({ title: 'A canary sings', ...limits });
    const file = { name: 'canary.txt', size: 3, stream: () => new Blob(['abc']).stream() };
    const upload = await new MayflyClient({ baseUrl }).uploadFiles([file], { expireSec: 3600, maxDownloads: 1 });
    await requests.drop(await requests.open(dropLink), upload);
    expect((await requests.list(keepLink)).drops).toMatchObject([{ uploadId: upload.id, link: upload.link }]);
    const secret = Buffer.from((await parseLink(upload.link)).secret).toString('base64url');
    const [keyHash = '', seed = ''] = [dropLink.split('#')[1], keepLink.split('#k')[1]];
    const database = await everythingInTheDatabase(databaseUrl);
    const logs = processes.map(({ output }) => output()).join('\n');
    expect(database).toContain(id);
    expect(logs).toContain('"route":"/api/request/:id/drop"');
    for (const canary of [...[secret, seed, keyHash].flatMap(formsOf), 'A canary sings', 'canary.txt']) {
      expect(database).not.toContain(canary);
      expect(logs).not.toContain(canary);
    }
  });

  test('no log holds an id when a blob, or the whole store, cannot be opened', async () => {
    const { blobs, processes } = service.running;
    const [hidden, held] = [await service.api.newUpload(), await service.api.newUpload()];
    const parts = new PartsApi(service.api);
    const [coming, given] = [await parts.begun(payloadOf(1)), await parts.begun(payloadOf(1))];
    await parts.send(given, 1);
    await blobs.hide(hidden.id);
    expect((await service.api.download(hidden.id, hidden.authToken)).status).toBe(503);
    await blobs.away();
    const folder = blobs.settings.BLOB_DIR;
    if (folder) await writeFile(folder, 'no folder'); // then the system's error names the file
    try {
      expect((await service.api.download(held.id, held.authToken)).status).toBe(503);
      await service.api.deleteUpload(hidden.id, hidden.ownerToken);
      await expect(service.api.newUpload()).rejects.toThrow('503');
      expect((await parts.send(coming, 1)).status).toBe(503);
      const { id, ownerToken, payload } = given;
      expect((await parts.complete(id, ownerToken, { length: payload.length })).status).toBe(503);
      await parts.cancel(coming.id, coming.ownerToken);
    } finally {
      if (folder) await rm(folder);
      await blobs.back();
    }
    const logs = processes.map(({ output }) => output()).join('\n');
    expect(logs).toContain('service unavailable');
    if (folder) expect(logs).toContain('<id>.bin');
    for (const { id } of [hidden, held, coming, given]) expect(logs).not.toContain(id);
  });

  test('the blob is what was sent, under the id and .bin, and nothing else', async () => {
    const { id, payload } = await service.api.newUpload();
    const names = await service.running.blobs.names();
    expect(names.filter((name) => name.includes(id))).toEqual([`${id}.bin`]);
    expect((await service.running.blobs.read(id)).equals(payload)).toBe(true);
  });

  test('no answer shows a token, a hash or a path', async () => {
    const upload = await service.api.newUpload(PASSWORD_HEADERS);
    const note = await service.api.newNote();
    const answers = await Promise.all([
      service.api.info(upload.id),
      service.api.exists(upload.id),
      service.api.checkPassword(upload.id, upload.authToken),
      service.api.download(upload.id, token()),
      service.api.deleteUpload(upload.id, token()),
      service.api.note(note.id),
      service.api.view(note.id, note.authToken),
    ]);
    for (const { text, headers } of answers) {
      const all = text + JSON.stringify(headers);
      for (const { authToken, ownerToken } of [upload, note]) {
        for (const form of [...formsOf(authToken), ...formsOf(ownerToken)]) expect(all).not.toContain(form);
      }
      expect(all).not.toMatch(/_hash|Hash"|\.bin\b|blobs?\//); // random base64 may hold any four letters
    }
  });
}

describeEachShape('secrets', { LOG_LEVEL: 'trace' }, tests);
