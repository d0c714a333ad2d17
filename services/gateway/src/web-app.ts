import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import type { App } from '@mayfly/shared/app';
import { ConfigError } from '@mayfly/shared/config';
import { CONTENT_TYPES, inlineScripts, pagePolicy, UNSERVED } from '@mayfly/vocabulary/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CODINGS, type WebFile, webFile } from './web-file.ts';

export type WebApp = {
  /** Addresses that a person opens. All are one document: what it shows, it finds out from the address. Contract 1. */
  pages: string[];
  index: WebFile;
  files: Map<string, WebFile>;
  policy: string;
  /** What the document alone says besides. */
  pageHeaders: Record<string, string>;
};

const NEEDED = Object.values(UNSERVED);

/** Reads a built web app, about six megabytes, into memory. Throws ConfigError when there is none in that folder. */
export function readWebApp(folder: string, pageHeaders: WebApp['pageHeaders'] = {}): WebApp {
  const missing = NEEDED.find((name) => !existsSync(join(folder, name)));
  if (missing) throw new ConfigError(`WEB_DIR holds no ${missing}: build the web app (node apps/web/build/build.ts)`);
  const files = new Map<string, WebFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || CONTENT_TYPES[extname(path)] === undefined) continue;
    files.set(`/${relative(folder, path).split(sep).join('/')}`, readWebFile(folder, path));
  }
  const index = readWebFile(folder, join(folder, UNSERVED.document));
  for (const name of NEEDED) files.delete(`/${name}`);
  const pages = Object.keys(JSON.parse(readFileSync(join(folder, UNSERVED.pages), 'utf8')) as Record<string, string>);
  return { pages, index, files, policy: contentSecurityPolicy(index.body.toString()), pageHeaders };
}

function readWebFile(folder: string, path: string): WebFile {
  const body = readFileSync(path);
  const coded = new Map(
    Object.entries(CODINGS)
      .filter(([, ending]) => existsSync(path + ending))
      .map(([coding, ending]) => [coding, readFileSync(path + ending)]),
  );
  return { ...webFile(body, path, cacheControl(relative(folder, path).split(sep))), coded };
}

/** What is named by its content never changes. A document or a service worker from yesterday would ask for what is gone. */
function cacheControl([top = '', ...below]: string[]): string {
  if (top === 'assets' && below.length > 0) return 'public, max-age=31536000, immutable';
  return top.endsWith('.html') || below.length > 0 ? 'no-store' : 'no-cache';
}

function contentSecurityPolicy(html: string): string {
  return pagePolicy(inlineScripts(html).map((text) => createHash('sha256').update(text).digest('base64')));
}

/** Serves the web app: pages, and every file at its path; at other addresses a page that says so. Decision static-pages. */
export function webPages(app: App, web: WebApp) {
  const serve = (file: WebFile) => async (request: FastifyRequest, reply: FastifyReply) => {
    const coding = file.coded.size > 0 ? acceptedCoding(request, file) : undefined;
    reply.headers({
      'content-type': file.contentType,
      'cache-control': file.cacheControl,
      'content-security-policy': file.policy ?? web.policy, // a worker's own, too
      etag: file.etag,
      vary: 'Accept-Encoding',
      ...(file === web.index ? web.pageHeaders : {}),
    });
    if (reply.statusCode === 200 && request.headers['if-none-match'] === file.etag) return reply.code(304).send();
    if (coding) reply.header('content-encoding', coding);
    return reply.send((coding && file.coded.get(coding)) ?? file.body);
  };
  const paths = [
    ...web.pages.map((url) => ({ url, file: web.index })),
    ...[...web.files].map(([url, file]) => ({ url, file })),
  ];
  for (const { url, file } of paths)
    app.route({
      method: ['GET', 'HEAD'],
      url,
      schema: { hide: true },
      config: { isUncounted: true },
      handler: serve(file),
    });
  const servePage = serve(web.index);
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404 && isForPerson(request)) return servePage(request, reply.code(404));
  });
}

/** A browser that goes to an address which is none of the API's. Programs get the contract's answer. */
function isForPerson({ method, url, headers }: FastifyRequest): boolean {
  return /^(GET|HEAD)$/.test(method) && !/^\/api(\/|$|\?)/.test(url) && /\btext\/html\b/.test(headers.accept ?? '');
}

function acceptedCoding(request: FastifyRequest, { coded }: WebFile): string | undefined {
  const accepted = String(request.headers['accept-encoding'] ?? '')
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
    .map((part) => part.split(';', 1)[0]);
  return [...coded.keys()].find((coding) => accepted.includes(coding));
}
