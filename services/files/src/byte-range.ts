import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import type { ByteRange } from '@mayfly/store/blobs';

export const SEVERAL_RANGES = { Range: ['must be one range of bytes'] };

/** The range that a `Range` field asks for, RFC 9110, 14.2; undefined when it is the whole. 400 for several, 416 for one that is not in it. */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const [, unit, ranges = ''] = /^(\w+)=(.*)$/.exec(header ?? '') ?? [];
  if (unit !== 'bytes') return undefined; // a unit that is not known is no range
  const [, from = '', to = ''] = /^\s*(\d{0,15})-(\d{0,15})\s*$/.exec(ranges) ?? [];
  if (from === '' && to === '') throw invalidRequest(SEVERAL_RANGES);
  const first = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  if (first > last) throw rangeNotSatisfiable(sizeBytes);
  return { first, last };
}

/** 416, with the length that the payload has. */
export const rangeNotSatisfiable = (sizeBytes: number) =>
  new HttpError(416, undefined, { headers: { 'content-range': `bytes */${sizeBytes}` } });
