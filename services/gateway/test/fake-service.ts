import { createServer, type Socket } from 'node:net';

export type FakeService = AsyncDisposable & {
  url: string;
  port: number;
  /** Everything that arrived, connection by connection. */
  received: string[];
  connections: Set<Socket>;
};

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** A service that shows the bytes it got. `answer` is called with each arrival and all that its connection brought so far. */
export async function fakeService(
  answer: (socket: Socket, all: string) => void = (socket) => void socket.write(OK),
  host = '127.0.0.1',
  wantedPort = 0,
): Promise<FakeService> {
  const received: string[] = [];
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    const index = received.push('') - 1;
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    socket.on('error', () => {}); // the gateway may go away
    socket.on('data', (chunk) => {
      const all = (received[index] ?? '') + chunk;
      received[index] = all;
      answer(socket, all);
    });
  });
  await new Promise<void>((resolve) => server.listen(wantedPort, host, resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://${host}:${port}`,
    port,
    received,
    connections,
    async [Symbol.asyncDispose]() {
      for (const socket of connections) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
