import { inSuite } from '@mayfly/testing/in-suite';
import { startShape } from '@mayfly/testing/shapes';
import { beforeAll, expect, test } from 'vitest';
import {
  type Arrival,
  MayflyClient,
  type ServiceConfig,
  type Source,
  type UnfinishedUpload,
  unpack,
} from '../src/index.ts';
import { nodeTransport } from '../src/node/index.ts';
import { collect, inPieces } from './bytes.ts';
import { patterned } from './reference.ts';

// The fake that other tests use is compared with the service itself here.

const content = patterned(20_000_000); // three parts
const file: Source = { name: 'a', size: content.length, lastModified: 5, stream: () => inPieces(content, 100_000) };
const UPLOAD = { expireSec: 3600, maxDownloads: 1 };

const service = inSuite(() => startShape('all'));
const client = inSuite(async () => new MayflyClient({ baseUrl: service().baseUrl, transport: nodeTransport() }));
let uploadParts: ServiceConfig['uploadParts'];
beforeAll(async () => {
  uploadParts = (await client().getConfig()).uploadParts;
});

test('the service takes what is sent in parts, whether its length is known or not', async ({ skip }) => {
  if (!uploadParts) skip('this service takes no uploads in parts');
  const steps: number[] = [];
  let arrival: Arrival | undefined;
  const known = await client().uploadFiles([file], {
    ...UPLOAD,
    uploadParts,
    onProgress: (done) => steps.push(done),
    async onAnnounced({ link }) {
      arrival = await client().getArrival(link);
    },
  });
  expect(arrival).toEqual({ storedBytes: 0, totalBytes: steps.at(-1), endsAt: expect.stringMatching(/Z$/) });
  expect(await client().getArrival(known.link)).toBeUndefined();
  expect(steps).toHaveLength(3);
  const spool = () => Promise.reject(new Error('nothing is spooled'));
  const unknown = await client().uploadStream(file, { ...UPLOAD, uploadParts, spool });
  const sent = [
    { ...known, segmentsPerPart: 128 },
    { ...unknown, segmentsPerPart: 80 }, // it has to be held until it is stored
  ];
  for (const { link, segmentsPerPart } of sent) {
    const { metadata, payload } = await client().download(link);
    expect(metadata).toMatchObject({ format: 2, segmentsPerPart });
    expect((await collect(payload)).equals(content)).toBe(true);
  }
});

test('the service lets an upload be resumed, once and again, until it is deleted', async ({ skip }) => {
  if (!uploadParts) skip('this service takes no uploads in parts');
  const files = [file, { ...file, name: 'b' }];
  let unfinished: UnfinishedUpload | undefined;
  const controller = new AbortController();
  const uploading = client().uploadFiles(files, {
    ...UPLOAD,
    uploadParts,
    signal: controller.signal,
    onUnfinished(kept) {
      unfinished = JSON.parse(JSON.stringify(kept));
    },
    onProgress: () => controller.abort(),
  });
  await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
  if (!unfinished) throw new Error('nothing was kept');
  const { storedBytes, totalBytes } = await client().getStoredBytes(unfinished);
  expect(storedBytes).toBeGreaterThan(0);
  expect(storedBytes).toBeLessThan(totalBytes);
  const created = await client().resumeUpload(unfinished, files);
  const { metadata, payload } = await client().download(created.link);
  for await (const { stream } of unpack(metadata, payload)) {
    expect((await collect(stream)).equals(content)).toBe(true);
  }
  const other = await client().uploadFiles(files, { ...UPLOAD, uploadParts });
  expect(
    await client().resumeUpload({ ...unfinished, id: other.id, ownerSecret: other.ownerSecret }, files),
  ).toBeTruthy();
  await client().remove(other, other.ownerSecret);
  const gone = { ...unfinished, id: other.id, ownerSecret: other.ownerSecret };
  await expect(client().resumeUpload(gone, files)).rejects.toMatchObject({ code: 'upload-ended' });
});
