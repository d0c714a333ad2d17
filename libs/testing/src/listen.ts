import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Lets a server listen on this machine, on any free port. */
export async function listen(server: Server): Promise<{ port: number; url: string }> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a path
  return { port, url: `http://127.0.0.1:${port}` };
}

/** The same for a proxy. Its address is that of what is behind it, as it is reached through it. */
export async function listenBefore(server: Server, target: string): Promise<{ port: number; url: string }> {
  const { port } = await listen(server);
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return { port, url: url.href };
}

/** An HTTP server that answers as a test wants, until it is disposed of. */
export async function serve(answer: RequestListener) {
  const server = createServer(answer);
  return {
    ...(await listen(server)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
