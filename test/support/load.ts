import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { noteBody, token, uploadHeaders } from './api.ts';

/** A transfer that succeeded, and when it was under way. */
type Transfer = { kind: 'upload' | 'download'; from: number; to: number };

export type Load = {
  /** What succeeded. */
  uploads: number;
  downloads: number;
  noteCalls: number;
  transfers: Transfer[];
  /** What did not, in words. */
  failures: string[];
  /** Lets everything that is under way finish. */
  stop(): Promise<void>;
};

const CHUNK_BYTES = 64 * 1024;
const CHUNKS = 24;
/** A transfer takes at least three seconds, so that a process that is replaced has some under way. */
const CHUNK_PAUSE_MS = 125;

/**
 * Goes on uploading, downloading and using notes until it is stopped, on kept connections as a browser or a proxy has them.
 * `baseUrl` is asked before each request: a balancer's choice.
 */
export function startLoad(baseUrl: () => string, { transfers = 8, notes = 4 } = {}): Load {
  const dispatcher = new Agent({ connections: 32, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 });
  const stopping = new AbortController();
  const load: Load = { uploads: 0, downloads: 0, noteCalls: 0, transfers: [], failures: [], stop };

  async function send(method: 'GET' | 'POST' | 'DELETE', path: string, expected: number, options: SendOptions = {}) {
    const { statusCode, body } = await request(baseUrl() + path, {
      method,
      dispatcher,
      headers: options.headers ?? {},
      ...(options.body === undefined ? {} : { body: options.body as never }), // undici takes async iterables
    });
    if (statusCode === expected) return body;
    throw new Error(`${method} ${path.replace(/[0-9a-f-]{36}/, ':id')} answered ${statusCode} ${await body.text()}`);
  }

  const json = (value: unknown) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  });

  async function transfer() {
    const payload = randomBytes(CHUNKS * CHUNK_BYTES);
    const tokens = { authToken: token(), ownerToken: token() };
    const headers = { ...uploadHeaders(tokens), 'content-length': String(payload.length) };
    const begun = performance.now();
    const answer = await send('POST', '/api/upload', 200, { headers, body: slowly(payload) });
    const { id } = (await answer.json()) as { id: string };
    load.uploads++;
    load.transfers.push({ kind: 'upload', from: begun, to: performance.now() });

    const asked = performance.now();
    const digest = createHash('sha256');
    const body = await send('GET', `/api/download/${id}`, 200, { headers: { 'x-auth-token': tokens.authToken } });
    let received = 0;
    for await (const chunk of body) {
      digest.update(chunk);
      received += chunk.length;
      await sleep((CHUNK_PAUSE_MS * chunk.length) / CHUNK_BYTES);
    }
    if (!digest.digest().equals(createHash('sha256').update(payload).digest())) {
      throw new Error(`a download gave ${received} bytes of ${payload.length}, or others`);
    }
    load.downloads++;
    load.transfers.push({ kind: 'download', from: asked, to: performance.now() });
    await (await send('DELETE', `/api/upload/${id}`, 200, { headers: { 'x-owner-token': tokens.ownerToken } })).dump();
  }

  async function note() {
    const content = noteBody({ maxViews: 1 });
    const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, expected: number, options?: SendOptions) => {
      const answer = await (await send(method, path, expected, options)).json();
      load.noteCalls++;
      return answer as Record<string, unknown>;
    };
    const { id } = await call('POST', '/api/note', 201, json(content));
    await call('GET', `/api/note/${id}`, 200);
    const seen = await call('POST', `/api/note/${id}/view`, 200, json({ authToken: content.authToken }));
    if (seen.encryptedContent !== content.encryptedContent) throw new Error('a view gave another content');
    await call('POST', `/api/note/${id}/view`, 410, json({ authToken: content.authToken }));
    await call('DELETE', `/api/note/${id}`, 200, { headers: { 'x-owner-token': content.ownerToken } });
    await sleep(50);
  }

  async function repeat(work: () => Promise<void>) {
    while (!stopping.signal.aborted) {
      try {
        await work();
      } catch (error) {
        const { message, code } = error as NodeJS.ErrnoException;
        load.failures.push(code ? `${code} ${message}` : message);
        await sleep(100);
      }
    }
  }

  const workers = [
    ...Array.from({ length: transfers }, () => repeat(transfer)),
    ...Array.from({ length: notes }, () => repeat(note)),
  ];

  async function stop() {
    stopping.abort();
    await Promise.all(workers);
    if (!dispatcher.closed) await dispatcher.close();
  }
  return load;
}

type SendOptions = { headers?: Record<string, string>; body?: string | AsyncIterable<Buffer> };

async function* slowly(payload: Buffer) {
  for (let at = 0; at < payload.length; at += CHUNK_BYTES) {
    yield payload.subarray(at, at + CHUNK_BYTES);
    await sleep(CHUNK_PAUSE_MS);
  }
}

/** Successful transfers that were under way at a moment. */
export function underWay({ transfers }: Load, at: number): Transfer[] {
  return transfers.filter(({ from, to }) => from < at && at < to);
}
