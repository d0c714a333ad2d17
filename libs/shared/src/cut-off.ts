import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

/** Who ended a connection before its answer was complete. `service`: one behind the gateway, for a reason that its own log has. */
export type CutBy = 'client' | 'store' | 'service' | 'time limit' | 'stop';

const CUT_BY = Symbol('cut by');
const stopping = new WeakSet<Server>();

declare module 'node:net' {
  interface Socket {
    [CUT_BY]?: CutBy;
  }
}

/** To be called before a connection is ended: the line of its request says who did it. */
export function cutOff(socket: Socket, by: CutBy): void {
  socket[CUT_BY] = by;
}

/** The process is about to end all connections of the server. */
export function cutAllOff(server: Server): void {
  stopping.add(server);
}

/** Who ended the connection of an answer that has closed; undefined when it was complete. */
export function cutBy(response: ServerResponse): CutBy | undefined {
  if (response.writableFinished) return undefined;
  const socket = response.req.socket as Socket & { server?: Server }; // Node's servers put themselves there
  return socket[CUT_BY] ?? (socket.server && stopping.has(socket.server) ? 'stop' : 'client');
}
