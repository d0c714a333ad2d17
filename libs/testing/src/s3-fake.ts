import { createReadStream, createWriteStream, mkdtempSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { listen } from './listen.ts';
import { fakeMultipart } from './s3-fake-multipart.ts';

/** What the next requests meet instead of an answer: silence, a status, or a connection that is cut half way. */
export type Fault = 'silence' | 'cut' | number;

export type S3Fake = AsyncDisposable & {
  url: string;
  accessKey: string;
  secretKey: string;
  /** The settings that lead to it. */
  settings: Record<'S3_ENDPOINT' | 'S3_REGION' | 'S3_BUCKET' | 'S3_ACCESS_KEY' | 'S3_SECRET_KEY', string> & {
    S3_PATH_STYLE: 'true';
  };
  /** Decides for each request; undefined lets it through. */
  fault: (request: { method: string; key: string; query: URLSearchParams }) => Fault | undefined;
  /** Whether an access key, with the token of its session, is good now. */
  admits: (accessKey: string, sessionToken: string) => boolean;
  /** Whether strangers may read, as a bucket that is set up wrongly lets them. */
  isPublic: boolean;
  /** Keys that a bulk delete refuses. */
  undeletable: Set<string>;
  /** Puts an error of this code into a 200 in place of completing an upload, as S3 may. */
  errorInside: string | undefined;
  /** Multipart uploads that are open, by what they are called. */
  uploads: ReadonlyMap<string, { key: string }>;
  /** Payload connections that are open now. */
  open: number;
};

const PAGE = 1_000;

/**
 * As much of an S3 server as Mayfly uses, in this process: objects are files, a PUT is all or nothing. It asks for the
 * right access key and does not compute signatures, which a real server is there to check.
 */
export async function startS3Fake(): Promise<S3Fake> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-s3-'));
  const buckets = new Set<string>();
  const accessKey = 'fake-key';
  let partials = 0;
  const multipart = fakeMultipart((name) => join(folder, encodeURIComponent(name)));

  const pathOf = (bucket: string, key: string) => join(folder, encodeURIComponent(`${bucket}/${key}`));
  const keysOf = async (bucket: string) =>
    (await readdir(folder))
      .map(decodeURIComponent)
      .filter((name) => name.startsWith(`${bucket}/`))
      .map((name) => name.slice(bucket.length + 1))
      .sort();

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy()); // the other side has gone
  });

  async function handle(request: IncomingMessage, response: ServerResponse) {
    const { method = 'GET', url = '/' } = request;
    const { pathname, searchParams: query } = new URL(url, 'http://s3');
    const [, bucket = '', ...rest] = decodeURIComponent(pathname).split('/');
    const key = rest.join('/');
    const fault = fake.fault({ method, key, query });
    if (fault === 'silence') return;
    if (typeof fault === 'number') return fail(response, fault, fault === 404 ? 'NoSuchKey' : 'InternalError');
    const signed = request.headers.authorization ?? query.get('X-Amz-Credential') ?? '';
    const session = request.headers['x-amz-security-token'] ?? query.get('X-Amz-Security-Token') ?? '';
    const [, asked = ''] = /([^\s=]+)\/\d{8}\//.exec(signed) ?? [];
    if (!fake.admits(asked, String(session)) && !(fake.isPublic && method === 'GET')) {
      return fail(response, 403, 'AccessDenied');
    }
    if (key !== '' && (query.has('uploads') || query.has('uploadId'))) {
      if (fake.errorInside && method === 'POST' && query.has('uploadId')) {
        return fail(response, 200, fake.errorInside);
      }
      const answer = await multipart(request, { method, key: `${bucket}/${key}`, query, fault });
      return void response.writeHead(answer.status, answer.headers).end(answer.body);
    }
    if (key !== '') return object(request, response, { method, bucket, key, fault });
    if (method === 'PUT') buckets.add(bucket);
    if (!buckets.has(bucket)) return fail(response, 404, 'NoSuchBucket');
    if (method === 'HEAD' || method === 'PUT') return void response.writeHead(200).end();
    if (method === 'POST') return bulkDelete(request, response, bucket);
    if (query.has('uploads')) return void response.writeHead(200).end(multipart.list(bucket));
    return list(response, bucket, query.get('continuation-token') ?? query.get('start-after') ?? '');
  }

  type Wanted = { method: string; bucket: string; key: string; fault: 'cut' | undefined };

  async function object(request: IncomingMessage, response: ServerResponse, { method, bucket, key, fault }: Wanted) {
    const path = pathOf(bucket, key);
    if (method === 'DELETE') {
      await rm(path, { force: true });
      return void response.writeHead(204).end();
    }
    fake.open += 1;
    response.once('close', () => {
      fake.open -= 1;
    });
    if (method === 'PUT') {
      const partial = join(folder, `partial-${partials++}`);
      if (fault) request.once('data', () => request.destroy());
      try {
        await pipeline(request, createWriteStream(partial));
        await rename(partial, path);
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
      return void response.writeHead(200).end();
    }
    const size = await stat(path).then(
      (found) => found.size,
      () => undefined,
    );
    if (size === undefined) return fail(response, 404, 'NoSuchKey');
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const range = first === undefined ? undefined : { start: Number(first), end: Number(last) };
    if (range) {
      const headers = {
        'content-length': range.end - range.start + 1,
        'content-range': `bytes ${first}-${last}/${size}`,
      };
      response.writeHead(206, headers);
    } else response.writeHead(200, { 'content-length': size });
    if (method === 'HEAD') return void response.end();
    const body = createReadStream(path, fault ? { end: Math.floor(size / 2) - 1 } : (range ?? {}));
    if (!fault) return pipeline(body, response);
    await pipeline(body, response, { end: false });
    response.destroy();
  }

  async function bulkDelete(request: IncomingMessage, response: ServerResponse, bucket: string) {
    const keys = [...(await text(request)).matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key);
    for (const key of keys) if (!fake.undeletable.has(key)) await rm(pathOf(bucket, key), { force: true });
    const refused = keys.filter((key) => fake.undeletable.has(key));
    const errors = refused.map((key) => `<Error><Key>${key}</Key><Code>InternalError</Code></Error>`).join('');
    response.writeHead(200, { 'content-type': 'application/xml' }).end(`<DeleteResult>${errors}</DeleteResult>`);
  }

  async function list(response: ServerResponse, bucket: string, after: string) {
    const keys = (await keysOf(bucket)).filter((key) => key > after);
    const contents: string[] = [];
    for (const key of keys.slice(0, PAGE)) {
      const { size, mtime } = await stat(pathOf(bucket, key));
      contents.push(
        `<Contents><Key>${key}</Key><Size>${size}</Size><LastModified>${mtime.toISOString()}</LastModified></Contents>`,
      );
    }
    const last = keys.length > PAGE ? keys[PAGE - 1] : undefined;
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<ListBucketResult><IsTruncated>${last !== undefined}</IsTruncated>${contents.join('')}` +
        `${last ? `<NextContinuationToken>${last}</NextContinuationToken>` : ''}</ListBucketResult>`,
    );
  }

  const { url } = await listen(server);
  const secretKey = 'fake-secret';
  const fake: S3Fake = {
    url,
    accessKey,
    secretKey,
    settings: {
      S3_ENDPOINT: url,
      S3_REGION: 'us-east-1',
      S3_BUCKET: 'payloads',
      S3_PATH_STYLE: 'true',
      S3_ACCESS_KEY: accessKey,
      S3_SECRET_KEY: secretKey,
    },
    fault: () => undefined,
    admits: (key) => key === accessKey,
    isPublic: false,
    undeletable: new Set(),
    errorInside: undefined,
    uploads: multipart.uploads,
    open: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
  return fake;
}

function fail(response: ServerResponse, status: number, code: string) {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}
