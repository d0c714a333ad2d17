import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { cutOff } from '@mayfly/shared/cut-off';
import { serviceUnavailable } from '@mayfly/shared/errors';
import type { ByteRange } from '@mayfly/store/blobs';
import type { FilesDeps } from './deps.ts';
import { assertAvailable, findUpload } from './find-upload.ts';

type PayloadDeps = Pick<FilesDeps, 'uploads' | 'blobs' | 'logger'>;
type Payload = { id: string; sizeBytes: number };
export type PayloadReply = { raw: ServerResponse; removeHeader: (name: string) => unknown };

/** A payload that is missing, damaged or cannot be opened costs the recipient nothing. */
export async function openPayload(
  { uploads, blobs, logger }: PayloadDeps,
  { id, sizeBytes }: Payload,
  range?: ByteRange,
): Promise<Readable> {
  const payload = await blobs.open(id, sizeBytes, range);
  if (payload) return payload.once('error', (err) => logger.error({ err }, 'a payload broke off at the blob store'));
  return missing(uploads, id);
}

/** So much of it is sent in one piece, and all that are being sent together are no more than that. */
const SMALL_BYTES = 256 * 1024;
const MOST_HELD_BYTES = 32 * 1024 * 1024;
let heldBytes = 0;

/** Whether a payload is small enough to be read at once, while there are not too many of them that recipients are slow to take. */
export const isSmall = (sizeBytes: number) => sizeBytes <= SMALL_BYTES && heldBytes + sizeBytes <= MOST_HELD_BYTES;

/** All of a small payload, which is held until the answer is over. */
export async function readPayload(
  deps: PayloadDeps,
  { id, sizeBytes }: Payload,
  { raw }: PayloadReply,
): Promise<Buffer> {
  if (!raw.closed) {
    heldBytes += sizeBytes;
    raw.once('close', () => {
      heldBytes -= sizeBytes;
    });
  }
  return (await deps.blobs.read(id, sizeBytes)) ?? missing(deps.uploads, id);
}

async function missing(uploads: FilesDeps['uploads'], id: string): Promise<never> {
  assertAvailable(await findUpload(uploads, id)); // deleted between the look-up and the opening?
  throw serviceUnavailable(new Error('an available upload has no blob'));
}

/** It may have broken off while the database was asked. */
export function assertWhole(payload: Readable) {
  if (payload.destroyed) throw serviceUnavailable(payload.errored);
}

/** When the blob store breaks off, the connection is cut, or the answer becomes a 503, which is no payload. `told` is called with whether that could be. */
export function onBreak(payload: Readable, reply: PayloadReply, told: (error: Error, isTakenBack: boolean) => void) {
  payload.once('error', (error) => {
    const isTakenBack = !reply.raw.headersSent;
    if (isTakenBack) takeHeadBack(reply);
    else cutOff(reply.raw.req.socket, 'store');
    told(error, isTakenBack);
  });
}

/** Says once, when the answer is over, whether all of it went to the recipient's connection. */
export function whenOver({ raw }: PayloadReply, told: (isWhole: boolean) => void, payload?: Readable) {
  const tell = () => told(raw.writableFinished && !payload?.errored);
  if (raw.closed)
    tell(); // before there was anything to send
  else raw.once('close', tell);
}

function takeHeadBack(reply: PayloadReply) {
  for (const name of [
    'content-type',
    'content-length',
    'content-range',
    'accept-ranges',
    'etag',
    'x-accel-buffering',
    'x-file-count',
  ]) {
    reply.removeHeader(name);
    reply.raw.removeHeader(name);
  }
}
