import { createHash } from 'node:crypto';
import { extname } from 'node:path';

export const TYPES: Record<string, string> = {
  '.bcmap': 'application/octet-stream', // character maps and fonts of documents that are previewed
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.pfb': 'application/octet-stream',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

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
  const contentType = TYPES[extname(name)] ?? 'application/octet-stream';
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { contentType, cacheControl, etag, body, coded: new Map() };
}
