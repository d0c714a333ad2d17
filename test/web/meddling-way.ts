import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';

/** What happens to the body of a download on its way. */
export type Meddling =
  | { kind: 'none' }
  /** One bit of one byte. */
  | { kind: 'flip'; at: number }
  /** The connection ends when so many bytes have passed. */
  | { kind: 'cut'; at: number }
  /** A well-formed answer of so many bytes. */
  | { kind: 'shorten'; to: number };

export type MeddlingWay = AsyncDisposable & { url: string; meddling: Meddling };

/** A proxy in front of a service that does to downloads what no service does. */
export async function meddlingWay(serviceUrl: string): Promise<MeddlingWay> {
  const way = { url: '', meddling: { kind: 'none' } as Meddling };
  const server = createServer((incoming, response) => {
    const { method = 'GET', headers, url = '' } = incoming;
    const outgoing = request(`${serviceUrl}${url}`, { method, headers }, (answer) => {
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
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  way.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
  return Object.assign(way, {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
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
