import type { IncomingHttpHeaders } from 'node:http';
import type { BodyLimits, Route } from '../../routes.ts';

/**
 * What a body counts against the quota: its declared length. One without (in chunks) counts as the largest that is taken;
 * an upload in chunks is refused by the service, as is here what declares more than is taken, so neither is charged.
 */
export function chargedBytes(
  headers: IncomingHttpHeaders,
  { body, payload, announcedBytes }: Route,
  largestBytes: number,
  limits: BodyLimits,
): number {
  if (announcedBytes) return announcedBytes(headers, limits);
  if (!body || body.isPrepaid) return 0;
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) <= largestBytes ? Number(length) : 0;
  const isChunked = headers['transfer-encoding'] !== undefined;
  return isChunked && payload !== 'request' ? largestBytes : 0;
}
