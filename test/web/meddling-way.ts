import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** What happens to the body of a download on its way. */
type Meddling =
  | { kind: 'none' }
  /** One bit of one byte. */
  | { kind: 'flip'; at: number }
  /** The connection ends when so many bytes have passed. */
  | { kind: 'cut'; at: number }
  /** A well-formed answer of so many bytes. */
  | { kind: 'shorten'; to: number };

export type MeddlingWay = AsyncDisposable & {
  url: string;
  meddling: Meddling;
  /** How fast bodies go to the service. */
  uploadBytesPerSec: number;
  /** Everything that clients have sent through it, as bytes: addresses, headers and bodies. Only if asked for. */
  sent: Buffer[];
  /** Ends every connection, and every new one until it is mended. */
  cut(): void;
  mend(): void;
};

/** A proxy in front of a service that does to transfers what no service does. */
export async function meddlingWay(serviceUrl: string, { records = false } = {}): Promise<MeddlingWay> {
  const way = { url: '', meddling: { kind: 'none' } as Meddling, uploadBytesPerSec: Number.POSITIVE_INFINITY };
  let isCut = false;
  const sent: Buffer[] = [];
  const server = createServer((incoming, response) => {
    const { method = 'GET', headers, url = '' } = incoming;
    // A connection of its own: one that was kept may be closed by its other end just now.
    const outgoing = request(`${serviceUrl}${url}`, { method, headers, agent: false }, (answer) => {
      const { meddling } = way;
      if (!url.startsWith('/api/download/') || meddling.kind === 'none') {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        return;
      }
      const length = meddling.kind === 'shorten' ? { 'content-length': String(meddling.to) } : {};
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...length });
      answer.pipe(meddle(meddling, () => response.destroy())).pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    if (records) {
      sent.push(Buffer.from(`${method} ${url}\n${incoming.rawHeaders.join('\n')}`));
      incoming.on('data', (chunk: Buffer) => sent.push(chunk));
    }
    incoming.on('error', () => outgoing.destroy());
    incoming.on('close', () => !incoming.complete && outgoing.destroy());
    incoming.pipe(throttle(() => way.uploadBytesPerSec)).pipe(outgoing);
  });
  server.on('connection', (socket) => isCut && socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  way.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
  return Object.assign(way, {
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

function throttle(bytesPerSec: () => number): Transform {
  return new Transform({
    async transform(chunk: Buffer, _encoding, done) {
      const waitMs = (chunk.length / bytesPerSec()) * 1000;
      if (waitMs > 0.5) await sleep(waitMs);
      done(null, chunk);
    },
  });
}

function meddle(meddling: Meddling, cut: () => void): Transform {
  let passed = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const from = passed;
      passed += chunk.length;
      if (meddling.kind === 'flip' && meddling.at >= from && meddling.at < passed) {
        chunk[meddling.at - from] = (chunk[meddling.at - from] ?? 0) ^ 1;
      }
      if (meddling.kind === 'cut' && passed >= meddling.at) return cut();
      done(null, meddling.kind === 'shorten' ? chunk.subarray(0, Math.max(meddling.to - from, 0)) : chunk);
    },
  });
}
