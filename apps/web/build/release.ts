import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import {
  CONTENT_TYPES,
  inlineScripts,
  pagePolicy,
  RELEASE_FILE,
  type Release,
  SECURITY_HEADERS,
  UNSERVED,
} from '@mayfly/vocabulary/pages';

/** WebAssembly in a script: base64 of its first four bytes, which are always the same, and all that follows. */
const WASM_IN_TEXT = /["'`](AGFzb[A-Za-z0-9+/]+={0,2})["'`]/g;

/**
 * Lists all that is served from a built folder, with hashes, in its `release.json`. There is no commit and no time in it: an archive
 * without Git gives the same bytes. Decision release-list.
 */
export function writeRelease(folder: string, version: string) {
  const unserved = Object.values(UNSERVED);
  const served = globSync('**/*', { cwd: folder })
    .filter((path) => CONTENT_TYPES[extname(path)] !== undefined && !unserved.includes(path))
    .sort();
  const read = (path: string) => readFileSync(join(folder, path));
  const factsOf = (path: string) => {
    const content = read(path);
    return { sha256: sha256(content, 'hex'), bytes: content.length, type: CONTENT_TYPES[extname(path)] ?? '' };
  };
  const html = read(UNSERVED.document).toString();
  const release: Release = {
    version,
    pages: Object.keys(JSON.parse(read(UNSERVED.pages).toString())),
    files: {
      '/': factsOf(UNSERVED.document),
      ...Object.fromEntries(served.map((path) => [`/${path}`, factsOf(path)])),
    },
    wasm: [...new Set(served.flatMap((path) => modulesIn(path, read(path))))].sort(),
    headers: {
      'content-security-policy': pagePolicy(inlineScripts(html).map((text) => sha256(text, 'base64'))),
      ...SECURITY_HEADERS,
      'x-content-type-options': 'nosniff',
    },
  };
  writeFileSync(join(folder, RELEASE_FILE), `${JSON.stringify(release, undefined, 1)}\n`);
}

function modulesIn(path: string, content: Buffer): string[] {
  if (path.endsWith('.wasm')) return [sha256(content, 'hex')];
  if (!path.endsWith('.js')) return [];
  const texts = [...content.toString().matchAll(WASM_IN_TEXT)].map(([, base64 = '']) => base64);
  return texts.map((base64) => sha256(Buffer.from(base64, 'base64'), 'hex'));
}

function sha256(content: Buffer | string, encoding: 'hex' | 'base64'): string {
  return createHash('sha256').update(content).digest(encoding);
}
