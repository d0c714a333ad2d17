import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { contentOffset, MayflyClient, newLease, parseAddress, parseLink, readEntry, unpack } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { FILES, FORGED, GENUINE } from '@mayfly/testing/forged-archives';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { describeEachShape } from '../support/each-shape.ts';
import { sendAnything } from '../support/hostile-sender.ts';
import { runCli } from '../support/mayfly-cli.ts';

const DESCRIPTION = {
  files: FILES.map(({ name, content }) => ({ name, type: '', size: content.length })),
  archive: 'zip',
};

describeEachShape('archives', { RATE_LIMIT_MAX: '100000' }, (service) => {
  test('what a sender with the right key has forged is refused, and nothing of it is saved', {
    timeout: 240_000,
  }, async () => {
    const get = async (link: string, output = '.') => {
      await using folder = await freshFolder();
      const { code, err, stdout } = await runCli(['get', link, '-o', output], { cwd: folder.path });
      return { code, err, stdout, saved: (await readdir(folder.path)).toSorted() };
    };
    // One of each kind; the library's tests have them all.
    const kinds: (keyof typeof FORGED)[] = [
      'a wrong checksum, wherever there is one',
      'another name in the directory',
      'an extra entry that the directory hides',
      'no directory',
      'a byte after the end',
    ];
    for (const kind of kinds) {
      const forged = FORGED[kind] ?? Buffer.alloc(0);
      const link = await sendAnything(service.api, forged, DESCRIPTION);
      const err = expect.stringMatching(/^mayfly: .*\n$/);
      const [saved, piped] = await Promise.all([get(link), get(link, '-')]);
      expect(saved, kind).toMatchObject({ code: 10, err, saved: [] });
      expect(piped, kind).toMatchObject({ code: 10, err });
      // What is not even as long as it should be is found before anything is spent.
      const { downloadCount } = (await service.api.info(parseAddress(link).id)).body;
      expect(downloadCount, kind).toBe(forged.length === GENUINE.length ? 2 : 0);
    }
    const untrue = await sendAnything(service.api, GENUINE, { ...DESCRIPTION, size: GENUINE.length + 1 });
    expect(await get(untrue)).toMatchObject({ code: 10, saved: [] });
    for (const described of [DESCRIPTION, { ...DESCRIPTION, size: GENUINE.length }]) {
      const link = await sendAnything(service.api, GENUINE, described);
      expect(await get(link)).toMatchObject({ code: 0, saved: ['a.txt', 'folder'] });
      expect((await get(link, '-')).stdout.equals(GENUINE)).toBe(true);
    }
  });

  const contents = [3_000_000, 70_000, 0, 9_000_000, 200_000, 1].map((size) => randomBytes(size));

  async function sendFiles({ inParts }: { inParts: boolean }) {
    const client = new MayflyClient({ baseUrl: service.running.baseUrl, transport: nodeTransport() });
    const files = contents.map((bytes, index) => ({
      name: `folder/${index}`,
      size: bytes.length,
      stream: () => new Blob([bytes]).stream(),
    }));
    const { uploadParts, downloadLeases } = await client.getConfig();
    const { link } = await client.uploadFiles(files, { expireSec: 3600, maxDownloads: 2, uploadParts, inParts });
    return { client, link, downloadLeases };
  }

  describe.each([
    ['in one piece, format 1', { inParts: false }],
    ['in parts, format 2', { inParts: true }],
  ])('sent %s', (_, how) => {
    test('one file at a time is read, and nothing else travels', async () => {
      const { client, link, downloadLeases } = await sendFiles(how);
      await using proxy = await openFaultProxy(service.running.baseUrl);
      const throughProxy = await parseLink(link.replace(/^[^/]*\/\/[^/]*\//, proxy.url));
      const content = await client.openContent(throughProxy, { downloadLeases });
      expect([content.metadata.format ?? 1, content.metadata.size]).toEqual([how.inParts ? 2 : 1, content.size]);
      for (const index of [3, 1, 4, 0, 2, 5]) {
        const expected = contents[index] ?? Buffer.alloc(0);
        proxy.takeBytes();
        expect((await bytesOf(readEntry(content, index))).equals(expected)).toBe(true);
        const movedBytes = proxy.takeBytes();
        expect(movedBytes).toBeLessThan(expected.length + 256 * 1024);
        if (index === 3) expect(movedBytes).toBeGreaterThan(expected.length); // of others some may be there already
      }
      await content.end();
      expect((await service.api.info(parseAddress(link).id)).body.downloadCount).toBe(1);
    });

    test('what is missing of it comes from any byte on', async () => {
      const { client, link, downloadLeases } = await sendFiles(how);
      const lease = newLease();
      for (const [index, bytes] of [
        [3, 8_999_999],
        [5, 1],
        [3, 0],
        [0, 2_900_000],
      ] as const) {
        const { metadata } = await client.getInfo(link);
        if (!metadata) throw new Error('it has no description');
        const startBytes = contentOffset(metadata, index, bytes);
        const { payload } = await client.download(link, { lease, downloadLeases, startBytes, isContinued: false });
        const written = new Blob([contents[index]?.subarray(0, bytes) ?? '']).stream();
        const rest: Buffer[] = [];
        for await (const { stream } of unpack(metadata, payload, { from: { index, bytes, written } })) {
          rest.push(await bytesOf(stream));
        }
        const expected = contents.slice(index).map((one, place) => (place === 0 ? one.subarray(bytes) : one));
        expect(rest.map((one, place) => one.equals(expected[place] ?? one.subarray(1)))).toEqual(
          expected.map(() => true),
        );
      }
      await client.endLease(link, lease);
      expect((await service.api.info(parseAddress(link).id)).body.downloadCount).toBe(1);
    });
  });
});

const bytesOf = (stream: ReadableStream<Uint8Array>) => buffer(Readable.fromWeb(stream as never)); // typed for Node only
