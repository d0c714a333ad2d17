import { connect, createServer, type Socket } from 'node:net';
import { listenBefore } from './listen.ts';

export type FaultProxy = Awaited<ReturnType<typeof openFaultProxy>>;

/**
 * A proxy before a server that a test can cut, silence and mend, and that counts what comes from it: what is shared by all
 * tests is never stopped for one.
 */
export async function openFaultProxy(target: string) {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let isCut = false;
  let isSilent = false;
  let bytes = 0;
  const deaf = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (client) => {
    if (isCut) {
      client.resetAndDestroy();
      return;
    }
    if (isSilent) {
      deafen(client);
      return;
    }
    client.resume();
    const onward = connect(Number(port), hostname);
    onward.on('data', (chunk) => {
      bytes += chunk.length;
    });
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      open.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.once('close', () => {
        open.delete(from);
        to.destroy();
      });
    }
  });
  const address = await listenBefore(server, target);
  const cut = () => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  /** It stays open, and nobody hears what it says. */
  const deafen = (socket: Socket) => {
    deaf.add(socket);
    socket.on('error', () => {}); // the test looks at what its other end does
    socket.once('close', () => deaf.delete(socket));
    socket.resume();
  };
  return {
    ...address,
    cut,
    /** Ends what is open with a reset, as a load balancer does that has lost its memory; new connections pass. */
    reset: () => {
      for (const socket of open) socket.resetAndDestroy();
    },
    /** Connections through it that are open now. */
    connections: () => open.size / 2,
    /** Bytes that came from the server since this was asked the last time, heads of answers and all. */
    takeBytes: () => {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
    /**
     * As when a node is lost: no connection ends, and on none that is open now a byte passes ever again. New ones are
     * taken and stay silent until the proxy is mended.
     */
    silence: () => {
      isSilent = true;
      for (const socket of open) {
        socket.unpipe();
        deafen(socket);
      }
    },
    mend: () => {
      isCut = false;
      isSilent = false;
    },
    async [Symbol.asyncDispose]() {
      cut();
      for (const socket of deaf) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
