import type { IncomingMessage } from 'node:http';

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MS = 8_000;

/**
 * Reads and drops the rest of a body that was answered early, so that the client finds the answer instead of a broken
 * pipe and the connection stays usable. A client that goes on for too long or too much loses the connection.
 */
export function drain(request: IncomingMessage): void {
  // Only a request that came over a socket knows whether it is complete.
  if (request.complete !== false || request.destroyed) return;
  let received = 0;
  const stop = () => request.socket.destroy();
  const timer = setTimeout(stop, MAX_MS);
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > MAX_BYTES) stop();
  });
  request.once('close', () => clearTimeout(timer));
  request.once('error', () => clearTimeout(timer)); // the client has gone: nothing is left to drain
  request.resume();
}
