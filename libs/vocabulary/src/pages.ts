// What the service says of its pages and of each file of theirs: the service sends it, a build writes it down, and whoever checks a service
// expects it. Decision release-list.

/** By the ending of a file's name. A file with any other ending is not served. */
export const CONTENT_TYPES: Record<string, string> = {
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

/** Of the built folder, but no addresses: the document has better ones, the other two are about them. */
export const UNSERVED = { document: 'index.html', pages: 'pages.json' };
/** Where a service tells its release. */
export const RELEASE_FILE = 'release.json';

/** On every public answer, beside the content security policy. */
export const SECURITY_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/** Of answers that are no page: what the API sends is never a page, a script or a frame. */
export const API_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Of the operator's logo: opened by itself an SVG is a document, which may not do anything. */
export const LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** Scripts in the document itself, which its policy allows by their hashes: the map of hashes is one. */
export function inlineScripts(html: string): string[] {
  return [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(([, text = '']) => text);
}

/**
 * The policy of pages and their files: own scripts and nothing else; text becomes script or markup only through the two policies
 * named here. `inlineHashes` are SHA-256 in base64, of what inlineScripts finds.
 */
export function pagePolicy(inlineHashes: string[]): string {
  return [
    "default-src 'none'",
    // Argon2 is WebAssembly; this allows no eval of text.
    ["script-src 'self' 'wasm-unsafe-eval'", ...inlineHashes.map((hash) => `'sha256-${hash}'`)].join(' '),
    "style-src 'self'",
    "img-src 'self' data: blob:",
    'media-src blob:', // previews: made in the page, and of no type that is a document
    "connect-src 'self'",
    "worker-src 'self'",
    "frame-src 'self'", // a download through the service worker begins in a frame
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types svelte-trusted-html mayfly',
  ].join('; ');
}

/** A published version of the web app: `release.json`. Hashes are SHA-256 in hex, of what a browser has after decoding. */
export type Release = {
  version: string;
  /** Addresses of the document, `/`, as in pages.json: `:id` stands for anything. */
  pages: string[];
  /** What is served, by its address. */
  files: Record<string, { sha256: string; bytes: number; type: string }>;
  /** Every WebAssembly module that a page or a worker compiles, wherever its bytes come from. */
  wasm: string[];
  /** What each of these answers has to say, by the header's name in lower case. */
  headers: Record<string, string>;
};
