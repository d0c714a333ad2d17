import type { ServerResponse } from 'node:http';

declare module 'node:http' {
  interface ServerResponse {
    whenClosed?: (() => void)[];
  }
}

/**
 * Calls `act` once the answer is over, sent or cut off, in the order in which this was asked for. All of a request share one
 * listener: Node takes more than ten on an answer for a leak, and says so in the operator's log.
 */
export function whenClosed(response: ServerResponse, act: () => void) {
  if (response.whenClosed) {
    response.whenClosed.push(act);
    return;
  }
  const acts = [act];
  response.whenClosed = acts;
  response.on('close', () => {
    for (const each of acts) each();
  });
}
