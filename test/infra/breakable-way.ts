import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '@mayfly/local-stores/ports';

/** A way to a server that a test can cut and mend: what is shared by all tests is never stopped for one. */
export async function breakableWay(host: string, port: number) {
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) {
      client.resetAndDestroy();
      return;
    }
    const onward = connect(port, host);
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
  const ownPort = await freePort();
  await new Promise<void>((resolve) => server.listen(ownPort, '127.0.0.1', resolve));
  const cut = () => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    port: ownPort,
    cut,
    /** Connections through it that are open now. */
    connections: () => open.size / 2,
    mend: () => {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
