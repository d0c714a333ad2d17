import type { FastifyRequest } from 'fastify';

/**
 * What a body counts against the quota: its declared length. One without (in chunks) counts as the largest that is taken;
 * an upload in chunks is refused by the service, as is here what declares more than is taken, so neither is charged.
 */
export function chargedBytes({ headers, routeOptions }: FastifyRequest, largestBytes: number): number {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) <= largestBytes ? Number(length) : 0;
  const isChunked = headers['transfer-encoding'] !== undefined;
  return isChunked && routeOptions.url !== '/api/upload' ? largestBytes : 0;
}
