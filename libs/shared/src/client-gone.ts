import type { ServerResponse } from 'node:http';

/** Aborts when the client leaves before its answer is complete. (Fastify's own signal aborts when a body has been read.) */
export function clientGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
