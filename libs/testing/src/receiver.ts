import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { selfSigned } from './certificate.ts';
import { listen } from './listen.ts';

export type Received = { path: string; headers: IncomingHttpHeaders; body: Buffer };
/** How it answers: with a status, never, a byte of its headers a second, or without an end. */
export type Manner = number | 'hang' | 'drip' | 'flood' | { redirect: string };

export type Receiver = AsyncDisposable & {
  port: number;
  /** https://127.0.0.1:port */
  url: string;
  /** What clients have to believe, as PEM. */
  ca: string;
  received: Received[];
  connections: number;
  manner: Manner | ((received: Received) => Manner);
};

/** An https server on the loopback that keeps what it is sent. */
export async function startReceiver(...names: string[]): Promise<Receiver> {
  const { cert, key } = selfSigned('localhost', ...names);
  const sockets = new Set<Socket>();
  const server = createServer({ cert, key }, async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // the client has left
    }
    const received = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
    receiver.received.push(received);
    const { manner } = receiver;
    answer(response, typeof manner === 'function' ? manner(received) : manner);
  });
  server.on('connection', (socket: Socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}); // clients cut what they have waited for
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {}); // a client that does not believe it
  const { port } = await listen(server);
  const receiver: Receiver = {
    port,
    url: `https://127.0.0.1:${port}`,
    ca: cert,
    received: [],
    connections: 0,
    manner: 200,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

function answer(response: ServerResponse, manner: Manner) {
  response.on('error', () => {}); // the client has heard enough
  if (typeof manner === 'number') response.writeHead(manner).end('what nobody reads');
  else if (typeof manner === 'object') response.writeHead(307, { location: manner.redirect }).end();
  else if (manner === 'drip') dripHeaders(response);
  else if (manner === 'flood') flood(response);
}

function dripHeaders({ socket }: ServerResponse) {
  socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
  const timer = setInterval(() => socket?.write('x'), 500);
  socket?.on('close', () => clearInterval(timer));
}

function flood(response: ServerResponse) {
  response.writeHead(200);
  const chunk = Buffer.alloc(64 * 1024);
  const pour = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', pour);
  pour();
}
