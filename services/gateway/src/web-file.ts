import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { CONTENT_TYPES } from '@mayfly/vocabulary/pages';

/** Endings of files that hold another file, compressed, best first. */
export const CODINGS = { br: '.br', gzip: '.gz' };

/** A file that is served from memory. */
export type WebFile = {
  contentType: string;
  cacheControl: string;
  etag: string;
  body: Buffer;
  /** The same bytes by content coding. */
  coded: Map<string, Buffer>;
  /** Instead of that of the pages. */
  policy?: string;
};

/** `name` is any path with the ending of its type. */
export function webFile(body: Buffer, name: string, cacheControl: string): WebFile {
  const contentType = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream';
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { contentType, cacheControl, etag, body, coded: new Map() };
}
