import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

/** Who ended a connection before its answer was complete. `service`: one behind the gateway, for a reason that its own log has. */
export type CutBy = 'client' | 'store' | 'service' | 'time limit' | 'stop';

const cuts = new WeakMap<ServerResponse, CutBy>();
const stopping = new WeakSet<Server>();

/** To be called before the answer's connection is ended: the line of the request says who did it. */
export function cutOff(response: ServerResponse, by: CutBy): void {
  cuts.set(response, by);
}

/** The process is about to end all connections of the server. */
export function cutAllOff(server: Server): void {
  stopping.add(server);
}

/** Who ended the connection of an answer that has closed; undefined when it was complete. */
export function cutBy(response: ServerResponse): CutBy | undefined {
  if (response.writableFinished) return undefined;
  const { server } = response.req.socket as Socket & { server?: Server }; // Node's servers put themselves there
  return cuts.get(response) ?? (server && stopping.has(server) ? 'stop' : 'client');
}
