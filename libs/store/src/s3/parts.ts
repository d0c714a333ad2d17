import { setTimeout as sleep } from 'node:timers/promises';
import { S3Error } from 'minio';
import type { Agent } from 'undici';
import { type BlobParts, lengthOf, PartsGone, PartsRefused } from '../blob-parts.ts';
import { nameOf } from '../blobs.ts';
import type { Part } from '../upload-sessions.ts';
import { openClient, type S3Config } from './connection.ts';
import { COMPLETE_MS, type S3Patience } from './patience.ts';
import { putPayload, StoreRefusal, storedBytes, unavailable } from './payloads.ts';

const SIGNED_FOR_SEC = 3_600;
const NO_UPLOAD = 'NoSuchUpload';
const LOOK_AGAIN_MS = [100, 300, 1_000];

/**
 * Parts of multipart uploads, each one PUT of known length. The store keeps the last try of each number, and puts them together by
 * itself, which may take it minutes.
 */
export function openS3Parts(config: S3Config, agent: Agent, patience: S3Patience): BlobParts {
  const bucket = config.S3_BUCKET;
  const client = openClient(config, patience);
  const patient = openClient(config, { ...patience, answerMs: patience.completeMs ?? COMPLETE_MS });

  async function isComplete(id: string, sizeBytes: number): Promise<boolean> {
    const url = await client.presignedUrl('HEAD', bucket, nameOf(id), SIGNED_FOR_SEC);
    return (await storedBytes(url, agent, patience.answerMs)) === sizeBytes;
  }

  /** Somebody else may have been quicker, whose parts have gone and whose payload is not seen yet; or an answer was lost. */
  async function isCompleteSoon(id: string, sizeBytes: number): Promise<boolean> {
    for (const waitMs of LOOK_AGAIN_MS) {
      if (await isComplete(id, sizeBytes)) return true;
      await sleep(waitMs);
    }
    return isComplete(id, sizeBytes);
  }

  /** A store (Ceph) may answer 500 when it is told to complete what it does not know, and says of the list that there is no such key. */
  const isForgotten = (id: string, storeRef: string) =>
    client.partsOf(bucket, nameOf(id), storeRef).then(
      () => false,
      (error: unknown) => isOf(NO_UPLOAD, error) || isOf('NoSuchKey', error),
    );

  const putTogether = (id: string, storeRef: string, parts: Pick<Part, 'number' | 'tag'>[]) =>
    patient.completeMultipartUpload(
      bucket,
      nameOf(id),
      storeRef,
      parts.map(({ number, tag }) => ({ part: number, etag: tag })),
    );

  /**
   * A try of a part that was stored after its successor was recorded: the store has other bytes than the table says. They are as
   * good, where they are as many.
   */
  async function asTheStoreHasThem(id: string, storeRef: string, parts: Part[]): Promise<Part[]> {
    const stored = new Map((await patient.partsOf(bucket, nameOf(id), storeRef)).map((part) => [part.number, part]));
    const refused = parts.filter(({ number, bytes }) => stored.get(number)?.bytes !== bytes);
    if (refused.length > 0) throw new PartsRefused(refused.map(({ number }) => number));
    return parts.map((part) => stored.get(part.number) ?? part);
  }

  return {
    async begin(id) {
      return client.initiateNewMultipartUpload(bucket, nameOf(id), {}).catch((error: unknown) => {
        throw unavailable(error);
      });
    },

    async put({ id, storeRef, number }, body, sizeBytes, signal) {
      const query = { uploadId: storeRef, partNumber: String(number) };
      const url = await client.presignedUrl('PUT', bucket, nameOf(id), SIGNED_FOR_SEC, query);
      try {
        const tag = await putPayload(url, body, { sizeBytes, signal, dispatcher: agent, patience });
        if (!tag) throw unavailable(new Error('the store does not say what it calls a part'));
        return tag;
      } catch (error) {
        throw isOf(NO_UPLOAD, (error as Error).cause) ? new PartsGone() : error;
      }
    },

    async drop() {}, // the next try takes its place

    async complete(id, storeRef, parts) {
      const sizeBytes = lengthOf(parts);
      try {
        try {
          await putTogether(id, storeRef, parts);
        } catch (error) {
          if (!isOf('InvalidPart', error) || (await isComplete(id, sizeBytes))) throw error;
          await putTogether(id, storeRef, await asTheStoreHasThem(id, storeRef, parts));
        }
      } catch (error) {
        if (error instanceof PartsRefused) throw error;
        if (await isCompleteSoon(id, sizeBytes)) return;
        throw isOf(NO_UPLOAD, error) || (await isForgotten(id, storeRef)) ? new PartsGone() : unavailable(error);
      }
    },

    async abort(id, storeRef) {
      await client.abortMultipartUpload(bucket, nameOf(id), storeRef).catch((error: unknown) => {
        if (!isOf(NO_UPLOAD, error)) throw unavailable(error);
      });
    },
  };
}

const isOf = (code: string, error: unknown) =>
  (error instanceof S3Error || error instanceof StoreRefusal) && error.code === code;
