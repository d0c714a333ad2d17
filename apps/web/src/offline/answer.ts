import icon from '../../public/icon.svg?raw';
import page from './page.html?raw';

/** What the page says, by language. */
const texts = import.meta.glob('../languages/*.json', { import: 'offline', eager: true });

/** The page for when the service cannot be reached: a document by itself, under a policy by which nothing but its own script runs. */
export function offlinePage(): Response {
  const nonce = crypto.randomUUID();
  const html = page
    .replaceAll('%NONCE%', nonce)
    .replaceAll('%ICON%', `data:image/svg+xml,${encodeURIComponent(icon)}`)
    .replace("'%TEXTS%'", () => JSON.stringify(byTag(texts)).replaceAll('<', '\\u003c'));
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Content-Security-Policy': policyFor(nonce),
  };
  return new Response(html, { status: 503, headers });
}

function byTag(files: Record<string, unknown>) {
  return Object.fromEntries(
    Object.entries(files).map(([path, said]) => [/([a-z-]+)\.json$/i.exec(path)?.[1] ?? path, said]),
  );
}

function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "connect-src 'self'", // it asks whether the service can be reached again
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}
