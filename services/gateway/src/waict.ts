import { createHash } from 'node:crypto';
import type { Release } from '@mayfly/vocabulary/pages';
import type { WebApp } from './web-app.ts';
import { webFile } from './web-file.ts';

const YEAR = 'public, max-age=31536000, immutable';
/** Characters of a hash in an address: 128 bits. */
const NAME_LENGTH = 22;

/**
 * Has the document name a manifest of all that it may load, and serves that manifest: draft-waict-integrity-v2, without transparency,
 * which is what `max-age=0` and an empty proof say. Browsers only report. Decision manifests-for-browsers.
 */
export function offerManifest(web: WebApp): WebApp {
  const document = digest(web.index.body);
  const pages = web.pages.filter((page) => !page.includes(':'));
  const release = web.files.get('/release.json')?.body.toString() ?? '{}';
  const { wasm = [] }: Partial<Release> = JSON.parse(release);
  const manifest = {
    hashes: Object.fromEntries([
      ...pages.map((page) => [page, document]),
      ...[...web.files].map(([path, { body }]) => [path, digest(body)]),
    ]),
    wasm_hashes: wasm.map((hash) => Buffer.from(hash, 'hex').toString('base64url')).sort(),
    fallback_hashes: [document], // pages of links, whose addresses nobody can list
  };
  const body = Buffer.from(`${JSON.stringify(manifest)}\n\n`); // the second line is the proof
  const path = `/.well-known/waict/manifests/${digest(body).slice(0, NAME_LENGTH)}`;
  const contentType = 'application/waict-integrity-manifest';
  return {
    ...web,
    files: new Map([...web.files, [path, { ...webFile(body, path, YEAR), contentType }]]),
    pageHeaders: {
      ...web.pageHeaders,
      'accept-ch': 'Sec-CH-WAICT',
      'integrity-policy-waict-v1': `max-age=0, mode=report, manifest="${path}"`,
    },
  };
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
