import type { Readable } from 'node:stream';
import { ConfigError } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { Client } from 'minio';
import { type BlobStore, idOf, nameOf, type StoredBlob } from '../blobs.ts';
import { prepareBucket } from './bucket.ts';
import { openClient, openPayloadAgent, PATIENCE, type S3Config, type S3Patience } from './connection.ts';
import { getPayload, putPayload, unavailable } from './payloads.ts';

/** Payloads are signed for as long as a slow sender may need until the store has seen the request's head. */
const SIGNED_FOR_SEC = 3_600;
const PAGE = 1_000;

/**
 * Blobs as objects of one private bucket, which is made when missing. A payload is one PUT of known length: the store
 * keeps it whole or not at all, and nothing is buffered here. Throws ConfigError when keys or bucket are wrong.
 */
export async function openS3Blobs(
  config: S3Config,
  logger: Logger,
  patience: S3Patience = PATIENCE,
): Promise<BlobStore & AsyncDisposable> {
  const bucket = config.S3_BUCKET;
  const client = openClient(config, patience);
  const agent = openPayloadAgent(patience);
  const prepared = onceDone(() => prepareBucket(client, bucket, config.S3_REGION, agent));
  await prepared().catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    logger.warn({ err: error }, 'the S3 store is not there yet; everything else is served meanwhile');
  });

  return {
    async put(id, body, sizeBytes, signal) {
      await prepared().catch(rejectUnavailable);
      const url = await client.presignedPutObject(bucket, nameOf(id), SIGNED_FOR_SEC);
      await putPayload(url, body, { sizeBytes, signal, dispatcher: agent, stallMs: patience.stallMs });
    },

    async open(id) {
      return getPayload(await client.presignedGetObject(bucket, nameOf(id), SIGNED_FOR_SEC), agent);
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
        for await (const { name, lastModified } of client.listObjectsV2(bucket, '', true) as Readable) {
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

    /** Mayfly begins no multipart upload; what another tool began in its bucket and left is storage that nobody sees. */
    async endPartials(before, isDryRun) {
      let found = 0;
      try {
        for await (const { key, initiated } of client.listIncompleteUploads(bucket, '', true) as Readable) {
          if (new Date(initiated) >= before) continue;
          found += 1;
          if (!isDryRun) await client.removeIncompleteUpload(bucket, key);
        }
      } catch (error) {
        if ((error as { code?: string }).code === 'NotImplemented') return 0; // then it has no multipart uploads either
        throw unavailable(error);
      }
      return found;
    },

    async check() {
      await prepared().catch(rejectUnavailable);
      if (!(await client.bucketExists(bucket).catch(rejectUnavailable))) throw unavailable(new Error('no bucket'));
    },

    [Symbol.asyncDispose]: () => agent.destroy(),
  };
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

/** Runs the work until it has succeeded once; callers at the same time share one run. */
function onceDone(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
