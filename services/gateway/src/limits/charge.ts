import type { FastifyRequest } from 'fastify';

export type BodyLimits = { MAX_FILE_SIZE: number; NOTE_MAX_SIZE: number };

/** Everything in a JSON body but its ciphertext: more than any service allows, for what it takes must be charged. */
const OTHER_FIELDS_BYTES = 64 * 1024;
const META_BYTES = 256 * 1024;

/** At least the largest body that the service behind a charged route takes. */
export function largestBody(url: string, { MAX_FILE_SIZE, NOTE_MAX_SIZE }: BodyLimits): number {
  if (url === '/api/upload') return MAX_FILE_SIZE;
  if (url === '/api/note') return Math.ceil((NOTE_MAX_SIZE * 4) / 3) + OTHER_FIELDS_BYTES;
  return META_BYTES;
}

/**
 * What a body counts against the quota: its declared length. One without (in chunks) counts as the largest that is taken;
 * an upload in chunks is refused by the service, as is what is larger than it takes, so neither is charged.
 */
export function chargedBytes({ headers, routeOptions }: FastifyRequest, largestBytes: number): number {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) <= largestBytes ? Number(length) : 0;
  const isChunked = headers['transfer-encoding'] !== undefined;
  return isChunked && routeOptions.url !== '/api/upload' ? largestBytes : 0;
}
