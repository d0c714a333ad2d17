import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** An open connection: how many exchanges run on it, and how many bytes it had brought when the last one was over. */
type Connection = { running: number; bytes: number };

/**
 * Makes a closing server close the connections that are idle, and only those. Node takes one for idle as soon as its answer was
 * ended, though a slow client may not have received the end of it yet: a download would lose its last bytes.
 */
export function closeOnlyIdle(server: Server): void {
  const connections = new Map<Socket, Connection>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { running: 0, bytes: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.prependListener(event, follow);

  function follow(request: IncomingMessage, response: ServerResponse) {
    const { socket } = request;
    const connection = connections.get(socket);
    if (!connection) return;
    connection.running++;
    const over = () => {
      connection.running--;
      connection.bytes = socket.bytesRead;
    };
    // The answer was handed to the system as a whole; the rest of a body that was answered early is still read.
    response.on('close', () => (request.complete ? over() : request.once('close', over)));
  }

  server.closeIdleConnections = () => {
    for (const [socket, { running, bytes }] of connections) {
      if (running === 0 && socket.bytesRead === bytes) socket.destroy();
    }
  };
}
