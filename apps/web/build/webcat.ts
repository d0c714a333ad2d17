import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { API_POLICY, LOGO_POLICY, RELEASE_FILE, type Release, UNSERVED } from '@mayfly/vocabulary/pages';

// Decision manifests-for-webcat.

/** What the tools of WEBCAT read to make a manifest of a folder. Hashes are SHA-256 in base64url. */
export type WebcatConfig = {
  app: string;
  version: string;
  default_csp: string;
  /** Of a folder's address; the document of `/`. */
  default_index: string;
  /** What is answered at addresses that are not listed: pages with an id in them are the same document. */
  default_fallback: string;
  wasm: string[];
  /** By the beginning of an address, where a policy is another one. */
  extra_csp: Record<string, string>;
};

/** What they sign. */
export type WebcatManifest = WebcatConfig & { files: Record<string, string> };

/** `app`: the address that the service is reached at. */
export function webcatConfig({ version, wasm, headers }: Release, app: string): WebcatConfig {
  return {
    app: new URL(app).origin,
    version,
    default_csp: headers['content-security-policy'] ?? '',
    default_index: UNSERVED.document,
    default_fallback: `/${UNSERVED.document}`,
    wasm: wasm.map(toBase64url).sort(),
    extra_csp: { '/api/': API_POLICY, '/brand-logo': LOGO_POLICY },
  };
}

/** The same with every file of the release, which is what they sign. */
export function webcatManifest(release: Release, app: string): WebcatManifest {
  const named = Object.entries(release.files).map(([path, { sha256 }]) => [
    path === '/' ? `/${UNSERVED.document}` : path,
    toBase64url(sha256),
  ]);
  return { ...webcatConfig(release, app), files: Object.fromEntries(named.sort()) };
}

function toBase64url(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url');
}

if (import.meta.main) {
  const [app, folder = resolve(import.meta.dirname, '../dist')] = process.argv.slice(2);
  if (!app || !URL.canParse(app)) {
    console.error('usage: node apps/web/build/webcat.ts https://mayfly.example [FOLDER OF THE BUILT WEB APP]');
    process.exit(2);
  }
  const release: Release = JSON.parse(readFileSync(join(folder, RELEASE_FILE), 'utf8'));
  const write = (name: string, content: unknown) => writeFileSync(name, `${JSON.stringify(content, undefined, 2)}\n`);
  write('webcat.config.json', webcatConfig(release, app));
  write('webcat.manifest.json', { manifest: webcatManifest(release, app) });
  console.log('Written: webcat.config.json, webcat.manifest.json');
}
