import { type IncomingHttpHeaders, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { skip } from './case.ts';

/** `json` is undefined when the answer is none. */
export type Answer = { status: number; headers: IncomingHttpHeaders; bytes: Buffer; json: unknown };
export type Outgoing = {
  headers?: Record<string, string>;
  body?: Buffer | string;
  /** Sent as application/json. */
  json?: unknown;
  /** The answer has to come before the body: none is sent. */
  withholdsBody?: boolean;
};

const ANSWER_MS = 60_000;
/** After so much silence nothing more comes. */
const RAW_MS = 15_000;
/** More than any answer to what is sent here. */
const ANSWER_BYTES = 16 * 1024 * 1024;
/** Who is told to wait waits so long in all, for one request. */
const WAIT_SEC = 120;

/** Sends a request on a connection of its own. Who is told to wait (429) waits; what takes too long is skipped. */
export async function send(
  base: URL,
  method: string,
  path: string,
  outgoing: Outgoing = {},
  mostSec = WAIT_SEC,
): Promise<Answer> {
  for (let waited = 0; ; ) {
    const answer = await sendOnce(base, method, path, outgoing);
    if (answer.status !== 429) return answer;
    const seconds = Math.max(1, Number(answer.headers['retry-after']) || 1);
    waited += seconds;
    if (waited > mostSec) skip(`the server limits its clients (429), and asks to wait ${seconds} s`);
    await sleep(seconds * 1000);
  }
}

/** The same without waiting: whatever the answer is, it is what a case wants to see. */
export function sendOnce(
  base: URL,
  method: string,
  path: string,
  { withholdsBody, ...rest }: Outgoing = {},
): Promise<Answer> {
  const headers: Record<string, string> = { 'User-Agent': 'mayfly-conformance', ...rest.headers };
  if ('json' in rest) headers['Content-Type'] ??= 'application/json';
  const body = 'json' in rest ? JSON.stringify(rest.json) : rest.body;
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  if (body !== undefined && !given.has('content-length') && !given.has('transfer-encoding'))
    headers['Content-Length'] = String(Buffer.byteLength(body));
  const open = base.protocol === 'https:' ? overHttps : overHttp;
  return new Promise((resolve, reject) => {
    const url = `${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`;
    const request = open(url, { method, headers, agent: false, signal: AbortSignal.timeout(ANSWER_MS) });
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length > ANSWER_BYTES) request.destroy(new Error(`the answer has more than ${ANSWER_BYTES} bytes`));
      });
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, json: parse(bytes) });
        if (withholdsBody) request.destroy();
      });
    });
    request.on('error', reject);
    if (withholdsBody) request.flushHeaders();
    else request.end(body);
  });
}

/**
 * Sends bytes as they are, and gives what comes until the server closes or says no more: for what no HTTP client sends. `isEnded`:
 * it was the server that has closed.
 */
export async function sendRaw(base: URL, text: string, { endsThere = false, silentMs = RAW_MS } = {}) {
  const answer = await exchange(base, text, endsThere, silentMs);
  if (answer.status === 429) skip('the server limits its clients (429)');
  return answer;
}

type RawAnswer = { status: number; json: unknown; isEnded: boolean };

function exchange(base: URL, text: string, endsThere: boolean, silentMs: number): Promise<RawAnswer> {
  const isSecure = base.protocol === 'https:';
  const port = Number(base.port) || (isSecure ? 443 : 80);
  const host = base.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket = isSecure ? connectSecurely({ host, port, servername: host }) : connect({ host, port });
    const chunks: Buffer[] = [];
    let isEnded = true;
    socket.setTimeout(silentMs, () => {
      isEnded = false;
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => error.code !== 'ECONNRESET' && reject(error));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (Buffer.concat(chunks).length > ANSWER_BYTES) socket.destroy(new Error('the answer has too many bytes'));
    });
    socket.on('close', () => {
      const [head = '', ...body] = Buffer.concat(chunks).toString('latin1').split('\r\n\r\n');
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
      if (status) resolve({ status, json: parse(Buffer.from(body.join('\r\n\r\n'), 'latin1')), isEnded });
      else reject(new Error('the server has not answered'));
    });
    if (endsThere) socket.end(text);
    else socket.write(text);
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined; // then it is no JSON, and a case that wants some says so
  }
}
