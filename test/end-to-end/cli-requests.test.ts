import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { MayflyClient } from '@mayfly/client';
import { FileRequests, parseRequestLink } from '@mayfly/client/requests';
import { listen } from '@mayfly/testing/listen';
import { query } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { call } from '../support/api.ts';
import { cliFolder } from '../support/cli-folder.ts';
import { describeEachShape } from '../support/each-shape.ts';

describeEachShape('file requests on the command line', {}, (service) => {
  const { inFolder, cli, ok } = cliFolder(() => service.running.baseUrl);
  type Asked = { id: string; dropLink: string; keepLink: string };
  const asked = async (...args: string[]): Promise<Asked> =>
    JSON.parse((await ok(['request', 'Documents', '--json', ...args])).out);
  const dropsOf = async ({ keepLink }: Asked) => new FileRequests({ baseUrl: service.running.baseUrl }).list(keepLink);

  test('whoever asks gets two links, and collects what others send with one of them', async () => {
    const { out, err } = await ok(['request', 'Documents for Anna', '--text', 'Passport, please', '--expires', '1d']);
    const [dropLink = '', keepLink = ''] = out.split('\n');
    expect([parseRequestLink(dropLink).role, parseRequestLink(keepLink).role]).toEqual(['drop', 'keep']);
    expect(err).toMatch(
      /Give this link away\. It takes up to 10 drops.*\nKeep this link.* if you lose it, nobody can:/s,
    );
    expect(err).not.toContain('Warning');
    const [one, other] = [randomBytes(100_000), randomBytes(10)];
    await writeFile(inFolder('passport.pdf'), one);
    await writeFile(inFolder('contract.pdf'), other);

    const sent = await ok(['drop', dropLink, 'passport.pdf']);
    expect(sent.out).toBe('');
    expect(sent.err).toMatch(/^Somebody asks for: Documents for Anna\nPassport, please\n10 drops left, .*\n/);
    expect(sent.err).toMatch(/Delivered\. To take it back: mayfly delete \S{36}\n$/);
    await ok(['drop', dropLink, 'passport.pdf', 'contract.pdf']);

    const got = await ok(['collect', keepLink, '-o', 'collected']);
    const folders = await readdir(inFolder('collected'));
    expect(folders).toHaveLength(2);
    expect(got.out.trim().split('\n')).toHaveLength(3);
    for (const path of got.out.trim().split('\n')) {
      const expected = path.endsWith('passport.pdf') ? one : other;
      expect(expected.equals(await readFile(inFolder(path))), path).toBe(true);
    }
    // What is there is not downloaded a second time.
    expect((await ok(['collect', keepLink, '-o', 'collected'])).out).toBe('');
  });

  test('a swapped key is refused before a file is looked at, and nothing is sent', async () => {
    const { dropLink, keepLink, id } = await asked();
    const other = parseRequestLink((await asked()).dropLink);
    if (other.role !== 'drop') throw new Error('it is the link to give away');
    const { publicKey } = (await call('GET', `${service.running.baseUrl}/api/request/${other.id}`)).body;
    const requests: string[] = [];
    const server = createServer(async (request, response) => {
      requests.push(`${request.method} ${request.url}`);
      const answer = await fetch(`${service.running.baseUrl}${request.url}`);
      response.end(JSON.stringify({ ...((await answer.json()) as object), publicKey }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (typeof address !== 'object' || !address) throw new Error('it listens');
    const lying = dropLink.replace(service.running.baseUrl, `http://127.0.0.1:${address.port}`);
    try {
      const { code, err } = await cli(['drop', lying, 'no-such-file']);
      expect([code, err]).toEqual([10, expect.stringContaining('another key than this link names')]);
      expect(requests).toEqual([`GET /api/request/${id}`]);
      expect((await dropsOf({ id, dropLink, keepLink })).drops).toEqual([]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('killed between the upload and the drop: nothing is counted, and the upload ends by itself', async () => {
    const { id, dropLink, keepLink } = await asked();
    let isDropping = false;
    const server = createServer(async (request, response) => {
      if (request.url?.endsWith('/drop')) {
        isDropping = true; // it never gets there
        return;
      }
      const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
      const body = request.method === 'POST' ? { body: new Uint8Array(await buffer(request)) } : {};
      const answer = await fetch(`${service.running.baseUrl}${request.url}`, {
        method: request.method ?? 'GET',
        headers,
        ...body,
      });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
    const { port } = await listen(server);
    try {
      await writeFile(inFolder('killed'), randomBytes(1_000));
      const through = dropLink.replace(service.running.baseUrl, `http://127.0.0.1:${port}`);
      const signalWhen = { signal: 'SIGKILL', isTime: async () => isDropping } as const;
      const { code } = await cli(['drop', through, 'killed'], { signalWhen });
      expect([code, isDropping]).toEqual([-1, true]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    expect(await dropsOf({ id, dropLink, keepLink })).toMatchObject({ state: 'open', dropsLeft: 10, drops: [] });
    const left =
      'select expires_at from files.uploads where encrypted_meta is not null order by created_at desc limit 1';
    const [row] = await query<{ expires_at: Date }>(service.running.databaseUrl, left);
    expect(row?.expires_at.getTime()).toBeLessThan(Date.now() + 8 * 86_400_000);
    await ok(['drop', dropLink, 'killed']);
    expect((await dropsOf({ id, dropLink, keepLink })).drops).toHaveLength(1);
  });

  test('what does not fit is refused before it is sent, and what does not fit any more leaves nothing behind', async () => {
    const request = await asked('--drops', '1', '--max-size', '1kB');
    await writeFile(inFolder('large'), randomBytes(2000));
    await writeFile(inFolder('small'), randomBytes(100));
    const large = await cli(['drop', request.dropLink, 'large', '--json']);
    expect([large.code, large.err]).toEqual([8, expect.stringContaining('"code":"too-large"')]);
    const requests = new FileRequests({ baseUrl: service.running.baseUrl });
    const before = await requests.open(request.dropLink);
    expect(JSON.parse((await ok(['drop', request.dropLink, 'small', '--json'])).out)).toMatchObject({
      kind: 'drop',
      requestId: request.id,
    });
    const full = await cli(['drop', request.dropLink, 'small']);
    expect([full.code, full.err]).toEqual([5, expect.stringContaining('got everything that it asked for')]);
    // One that was uploaded while the last place was taken.
    const client = new MayflyClient({ baseUrl: service.running.baseUrl });
    const file = { name: 'late', size: 3, stream: () => new Blob(['abc']).stream() };
    const { dropExpireSec: expireSec, dropMaxDownloads: maxDownloads } = before;
    const late = await client.uploadFiles([file], { expireSec, maxDownloads });
    await expect(requests.drop(before, late)).rejects.toMatchObject({ code: 'used-up' });
    await expect(client.getInfo(late.link)).rejects.toMatchObject({ code: 'not-found' });
    expect((await dropsOf(request)).drops).toHaveLength(1);
  });

  test('the same drop again is one drop, and a sender may take it back', async () => {
    const request = await asked();
    const requests = new FileRequests({ baseUrl: service.running.baseUrl });
    const opened = await requests.open(request.dropLink);
    await writeFile(inFolder('taken'), 'abc');
    const { id } = JSON.parse((await ok(['drop', request.dropLink, 'taken', '--json'])).out) as { id: string };
    const [first] = (await dropsOf(request)).drops;
    expect(first).toMatchObject({ uploadId: id, available: true });
    const owned = JSON.parse(await readFile(inFolder('.local/share/mayfly/owned', `${id}.json`), 'utf8'));
    await requests.drop(opened, { kind: 'upload', id, link: first?.link ?? '', ownerSecret: owned.ownerSecret });
    expect(await dropsOf(request)).toMatchObject({ dropsLeft: 9, drops: [{ uploadId: id }] });
    await ok(['delete', id]);
    const { code, err } = await cli(['collect', request.keepLink, '-o', 'taken-back']);
    expect([code, err]).toEqual([4, expect.stringContaining('It has expired, was used up or deleted')]);
  });

  test('links are told apart, and a request can be deleted', async () => {
    const { dropLink, keepLink } = await asked();
    expect(await cli(['drop', keepLink, 'x'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('not for senders'),
    });
    expect(await cli(['collect', dropLink])).toMatchObject({ code: 13 });
    expect(await cli(['get', dropLink])).toMatchObject({
      code: 2,
      err: expect.stringContaining('mayfly drop LINK FILE'),
    });
    expect(await cli(['delete', dropLink])).toMatchObject({ code: 13 });
    await ok(['delete', keepLink]);
    expect(await cli(['drop', dropLink, 'x'])).toMatchObject({ code: 3 });
    expect(await cli(['collect', keepLink])).toMatchObject({ code: 3 });
  });

  test('requests are in mayfly list only where links are kept', async () => {
    const config = inFolder('keep.json');
    await writeFile(config, JSON.stringify({ keepLinks: true }));
    const env = { MAYFLY_CONFIG: config, XDG_DATA_HOME: inFolder('kept') };
    await ok(['request', 'Not kept'], { env: { XDG_DATA_HOME: inFolder('kept') } });
    const { id, keepLink } = JSON.parse((await ok(['request', 'Kept', '--json'], { env })).out) as Asked;
    const { out } = await ok(['list'], { env });
    expect(out).toMatch(
      new RegExp(`^${id}  0 of 10 drops, for \\d+ \\S+  Kept\n  ${keepLink.replace(/[?#.]/g, '.')}\n$`),
    );
    expect(JSON.parse((await ok(['list', '--json'], { env })).out)).toMatchObject([
      { kind: 'request', id, link: keepLink, status: 'open', maxDrops: 10, drops: [] },
    ]);
    await ok(['delete', id], { env });
    expect((await ok(['list'], { env })).out).toBe('');
  });
});
