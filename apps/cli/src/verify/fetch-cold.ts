import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';

/** More of them than any answer of the service has, by far. */
const MOST_HEADER_BYTES = 32 * 1024;
/** What coding may add to content that it cannot make smaller. */
const MOST_CODING_BYTES = 64 * 1024;
const MOST_INTERIM_ANSWERS = 5;
/** 8 MiB, as in browsers; what it asks for is memory here. */
const MOST_ZSTD_WINDOW_LOG = 23;

export type ColdAnswer = {
  status: number;
  /** All values of each, by its name in lower case. */
  headers: Map<string, string>;
  /** Of the decoded content, where the status is the expected one. */
  sha256: string | undefined;
};

export type ColdRequest = {
  url: URL;
  headers: Record<string, string>;
  agent: Agent;
  /** Of any other status the content is not read. */
  status: number;
  /** Decoded. A longer answer is an error. */
  mostBytes: number;
  /** From the first byte to the last. */
  timeoutMs: number;
  signal: AbortSignal;
};

/** What the other side does that cannot be compared: its message says it, as in "/ is longer than 12 bytes". */
export class BadAnswer extends Error {}

/**
 * GET as a browser does that has never been there: nothing conditional, no redirect followed. Whatever the other side sends, it
 * ends in time and keeps none of it. Throws BadAnswer, or the error of the connection.
 */
export async function fetchCold({ timeoutMs, signal, ...wanted }: ColdRequest): Promise<ColdAnswer> {
  const { url, headers, agent, status, mostBytes } = wanted;
  const { request: start } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const timeout = AbortSignal.timeout(timeoutMs);
  const until = AbortSignal.any([signal, timeout]);
  const request = start(url, { agent, headers, signal: until, maxHeaderSize: MOST_HEADER_BYTES });
  request.on('error', () => {}); // it is told by whatever waits, or nobody waits any more
  let isRead = false;
  try {
    const interim = refuseInterim(request);
    // With the signal: of a connection that was switched to something else no other event comes.
    const response = once(request, 'response', { signal: until }) as Promise<[IncomingMessage]>; // what it comes with
    request.end();
    const [answer] = await Promise.race([response, interim]);
    const got = { status: answer.statusCode ?? 0, headers: allHeaders(answer) };
    if (got.status !== status) return { ...got, sha256: undefined };
    const sha256 = await hashContent(answer, got.headers, mostBytes, until);
    isRead = answer.complete;
    return { ...got, sha256 };
  } catch (error) {
    if (timeout.aborted && !signal.aborted) throw new BadAnswer(`takes longer than ${timeoutMs / 1000} s`);
    if ((error as NodeJS.ErrnoException).code === 'HPE_HEADER_OVERFLOW') throw new BadAnswer('has endless headers');
    throw error;
  } finally {
    if (!isRead) request.destroy(); // else the connection is good for another
  }
}

/** Early hints make a browser load things before the answer says what it may load. */
function refuseInterim(request: ClientRequest): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  let count = 0;
  request.on('information', ({ statusCode }) => {
    count += 1;
    if (statusCode === 103) reject(new BadAnswer('sends early hints'));
    else if (count > MOST_INTERIM_ANSWERS) reject(new BadAnswer('sends answers without an end'));
  });
  promise.catch(() => {}); // it may come when nobody waits any more
  return promise;
}

function allHeaders({ rawHeaders }: IncomingMessage): Map<string, string> {
  const headers = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const [before, value] = [headers.get(name), rawHeaders[index + 1] ?? ''];
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}

async function hashContent(
  answer: IncomingMessage,
  headers: Map<string, string>,
  mostBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256');
  const longer = () => new BadAnswer(`is longer than ${mostBytes} bytes`);
  const decoder = decoderOf(headers.get('content-encoding'));
  const limited = (most: number) =>
    async function* (source: AsyncIterable<Buffer>) {
      let bytes = 0;
      for await (const chunk of source) {
        bytes += chunk.length;
        if (bytes > most) throw longer();
        yield chunk;
      }
    };
  const toHash = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) hash.update(chunk);
  };
  const decoded = limited(mostBytes);
  if (decoder) await pipeline(answer, limited(mostBytes + MOST_CODING_BYTES), decoder, decoded, toHash, { signal });
  else await pipeline(answer, decoded, toHash, { signal });
  return hash.digest('hex');
}

function decoderOf(coding = 'identity') {
  const zlib = process.getBuiltinModule('node:zlib');
  switch (coding.toLowerCase()) {
    case 'identity':
      return undefined;
    case 'br':
      return zlib.createBrotliDecompress();
    case 'gzip':
      return zlib.createGunzip();
    case 'deflate':
      return zlib.createInflate();
    case 'zstd':
      return zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: MOST_ZSTD_WINDOW_LOG } });
    default:
      throw new BadAnswer('is encoded in a way that was not asked for');
  }
}
