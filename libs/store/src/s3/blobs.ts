import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Client } from 'minio';
import { type BlobStore, idOf, NOTHING_RESERVED, nameOf, type StoredBlob } from '../blobs.ts';
import { MARKER_PREFIX, MARKER_TEXT, type MarkedPlace, markerIdOf, markerName } from '../marker.ts';
import { assertPrivate, bucketExists, createBucket } from './bucket.ts';
import { openClient, openPayloadAgent, type S3Config } from './connection.ts';
import { openS3Parts } from './parts.ts';
import { PATIENCE, type S3Patience } from './patience.ts';
import { getPayload, putPayload, storedBytes, unavailable } from './payloads.ts';

/** Payloads are signed for as long as a slow sender may need until the store has seen the request's head. */
const SIGNED_FOR_SEC = 3_600;
const PAGE = 1_000;
/** Uploads wait for the answer, and health asks for it. */
const MARKER_ANSWER_MS = 5_000;

/**
 * Blobs as objects of one private bucket. A payload is one PUT of known length: the store keeps it whole or not at all, and
 * nothing is buffered here.
 */
export function openS3Blobs(
  config: S3Config,
  patience: S3Patience = PATIENCE,
): BlobStore & MarkedPlace & AsyncDisposable {
  const bucket = config.S3_BUCKET;
  const client = openClient(config, patience);
  const agent = openPayloadAgent(patience);

  return {
    reserve: async () => NOTHING_RESERVED,

    async put(id, body, sizeBytes, signal) {
      const url = await client.presignedPutObject(bucket, nameOf(id), SIGNED_FOR_SEC);
      await putPayload(url, body, { sizeBytes, signal, dispatcher: agent, patience });
    },

    async open(id, sizeBytes, range) {
      const url = await client.presignedGetObject(bucket, nameOf(id), SIGNED_FOR_SEC);
      return getPayload(url, agent, sizeBytes, range);
    },

    async read(id, sizeBytes) {
      const url = await client.presignedGetObject(bucket, nameOf(id), SIGNED_FOR_SEC);
      const payload = await getPayload(url, agent, sizeBytes);
      return payload && buffer(payload);
    },

    async delete(ids) {
      const failed: string[] = [];
      for (let first = 0; first < ids.length; first += PAGE) {
        failed.push(...(await deletePage(client, bucket, ids.slice(first, first + PAGE))));
      }
      return failed;
    },

    async *list() {
      let page: StoredBlob[] = [];
      try {
        for await (const { name, lastModified } of guarded(client.listObjectsV2(bucket, '', true))) {
          const id = idOf(name);
          if (id !== undefined) page.push({ id, modifiedAt: lastModified });
          if (page.length === PAGE) {
            yield page;
            page = [];
          }
        }
      } catch (error) {
        throw unavailable(error);
      }
      if (page.length > 0) yield page;
    },

    parts: openS3Parts(config, agent, patience),

    /** What was begun in parts and belongs to no upload, be it another tool's, is storage that nobody sees. */
    async endPartials(before, isDryRun, arriving) {
      let found = 0;
      try {
        for await (const page of incompleteUploads(client, bucket)) {
          const old = page.filter(({ initiated }) => new Date(initiated) < before);
          const ids = old.flatMap(({ key }) => idOf(key) ?? []);
          const kept = ids.length > 0 ? await arriving(ids) : new Set();
          for (const { key, uploadId } of old) {
            if (kept.has(idOf(key) ?? '')) continue;
            found += 1;
            if (!isDryRun) await client.abortMultipartUpload(bucket, key, uploadId);
          }
        }
      } catch (error) {
        if ((error as { code?: string }).code === 'NotImplemented') return 0; // then it has no multipart uploads either
        throw unavailable(error);
      }
      return found;
    },

    async check() {
      if (!(await client.bucketExists(bucket).catch(rejectUnavailable))) throw unavailable(new Error('no bucket'));
    },

    create: () => createBucket(client, bucket, config.S3_REGION),
    exists: () => bucketExists(client, bucket),
    assertPrivate: () => assertPrivate(client, bucket, agent),
    async markers() {
      const found: string[] = [];
      try {
        for await (const { name } of guarded(client.listObjectsV2(bucket, MARKER_PREFIX, true))) {
          const id = markerIdOf(name);
          if (id !== undefined) found.push(id);
        }
      } catch (error) {
        throw unavailable(error);
      }
      return found;
    },
    async bears(id) {
      const url = await client.presignedUrl('HEAD', bucket, markerName(id), SIGNED_FOR_SEC);
      return (await storedBytes(url, agent, Math.min(patience.answerMs, MARKER_ANSWER_MS))) !== undefined;
    },
    async mark(id) {
      await client.putObject(bucket, markerName(id), MARKER_TEXT).catch(rejectUnavailable);
    },
    async unmark(id) {
      await client.removeObject(bucket, markerName(id)).catch(rejectUnavailable);
    },
    markerFreshMs: 10_000, // a bucket does not go away by itself, as a folder does that is not mounted

    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/** The library reports a fault to a list even when nobody reads it any more. */
function guarded(list: unknown): Readable {
  return (list as Readable).on('error', () => {}); // whoever reads it gets it as well
}

/** Page by page, without a question about the parts of each. */
async function* incompleteUploads(client: Client, bucket: string) {
  let [key, uploadId] = ['', ''];
  for (let isMore = true; isMore; ) {
    const page = await client.listIncompleteUploadsQuery(bucket, '', key, uploadId, '');
    yield page.uploads;
    [key, uploadId, isMore] = [page.nextKeyMarker, page.nextUploadIdMarker, page.isTruncated];
  }
}

/** Resolves with those that could not be deleted. */
async function deletePage(client: Client, bucket: string, ids: string[]): Promise<string[]> {
  try {
    const problems = await client.removeObjects(bucket, ids.map(nameOf));
    const failed = new Set(problems.flatMap((problem) => keyOf(problem)));
    return ids.filter((id) => failed.has(nameOf(id)));
  } catch {
    return ids; // reported, so that the caller tries again later
  }
}

/** The library's types say `Error.Key`; its parser gives the `Error` elements themselves. */
function keyOf(problem: object | null | undefined): string[] {
  const { Key } = problem as { Key?: string };
  return Key === undefined ? [] : [Key];
}

function rejectUnavailable(error: unknown): never {
  throw unavailable(error);
}
