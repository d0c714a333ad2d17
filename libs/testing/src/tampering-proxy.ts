import { createServer, request } from 'node:http';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from './listen.ts';

/** What happens to the body of a download on its way. */
type Tampering =
  | { kind: 'none' }
  /** One bit of one byte. */
  | { kind: 'flip'; at: number }
  /** The connection ends when so many bytes have passed. */
  | { kind: 'cut'; at: number }
  /** A well-formed answer of so many bytes. */
  | { kind: 'shorten'; to: number };

export type TamperingProxy = AsyncDisposable & {
  url: string;
  tampering: Tampering;
  /** How fast bodies go to the service. */
  uploadBytesPerSec: number;
  /** How fast payloads come from it, and how many bytes of them have come. */
  downloadBytesPerSec: number;
  downloadedBytes: number;
  /** Everything that clients have sent through it, as bytes: addresses, headers and bodies. Only if asked for. */
  sent: Buffer[];
  /** Ends every connection, and every new one until it is mended. */
  cut(): void;
  mend(): void;
};

/** A proxy in front of a service that does to transfers what no service does. */
export async function openTamperingProxy(serviceUrl: string, { records = false } = {}): Promise<TamperingProxy> {
  const proxy = {
    url: '',
    tampering: { kind: 'none' } as Tampering,
    uploadBytesPerSec: Number.POSITIVE_INFINITY,
    downloadBytesPerSec: Number.POSITIVE_INFINITY,
    downloadedBytes: 0,
  };
  let isCut = false;
  const sent: Buffer[] = [];
  const server = createServer((incoming, response) => {
    const { method = 'GET', headers, url = '' } = incoming;
    // A connection of its own: one that was kept may be closed by its other end just now.
    const outgoing = request(`${serviceUrl}${url}`, { method, headers, agent: false }, (answer) => {
      const { tampering } = proxy;
      const isPayload = /^\/api\/(download|lease)\//.test(url);
      if (isPayload) {
        answer.on('data', (chunk: Buffer) => {
          proxy.downloadedBytes += chunk.length;
        });
      }
      if (!isPayload || tampering.kind === 'none') {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        (isPayload ? answer.pipe(throttle(() => proxy.downloadBytesPerSec)) : answer).pipe(response);
        return;
      }
      const length = tampering.kind === 'shorten' ? { 'content-length': String(tampering.to) } : {};
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...length });
      answer.pipe(tamper(tampering, () => response.destroy())).pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    if (records) {
      sent.push(Buffer.from(`${method} ${url}\n${incoming.rawHeaders.join('\n')}`));
      incoming.on('data', (chunk: Buffer) => sent.push(chunk));
    }
    incoming.on('error', () => outgoing.destroy());
    // Also what has arrived here and is still on its way: nothing of a client that has left is passed on.
    response.on('close', () => !response.writableFinished && outgoing.destroy());
    incoming.pipe(throttle(() => proxy.uploadBytesPerSec)).pipe(outgoing);
  });
  server.on('connection', (socket) => isCut && socket.destroy());
  proxy.url = (await listen(server)).url;
  return Object.assign(proxy, {
    sent,
    cut() {
      isCut = true;
      server.closeAllConnections();
    },
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  });
}

/** So soon another speed is noticed. */
const STEP_MS = 100;

function throttle(bytesPerSec: () => number): Transform {
  return new Transform({
    async transform(chunk: Buffer, _encoding, done) {
      for (let left = chunk.length; left > 0; ) {
        const bytes = Math.min(left, bytesPerSec() * (STEP_MS / 1000));
        const waitMs = (bytes / bytesPerSec()) * 1000;
        if (waitMs > 0.5) await sleep(waitMs);
        left -= bytes;
      }
      done(null, chunk);
    },
  });
}

function tamper(tampering: Tampering, cut: () => void): Transform {
  let passed = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const from = passed;
      passed += chunk.length;
      if (tampering.kind === 'flip' && tampering.at >= from && tampering.at < passed) {
        chunk[tampering.at - from] = (chunk[tampering.at - from] ?? 0) ^ 1;
      }
      if (tampering.kind === 'cut' && passed >= tampering.at) return cut();
      done(null, tampering.kind === 'shorten' ? chunk.subarray(0, Math.max(tampering.to - from, 0)) : chunk);
    },
  });
}
