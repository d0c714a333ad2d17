import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import type { App } from './app.ts';
import type { Config } from './config.ts';
import { cutAllOff } from './cut-off.ts';
import type { Logger } from './logger.ts';
import type { drainSettings } from './settings.ts';

/** The rest of a larger body may still be on its way when the answer is sent: its connection is left as it is. */
const SMALL_BODY_BYTES = 64 * 1024;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Lets a server go without cutting anybody off. For DRAIN_MS it serves as before, so that balancers see that the process is
 * not ready, and tells each client to come back on another connection. Then it refuses connections and waits for what runs,
 * DRAIN_GRACE_MS at most. Decision drain-before-exit.
 */
export async function drainServer(
  app: Pick<App, 'server' | 'close'>,
  { DRAIN_MS, DRAIN_GRACE_MS }: Config<typeof drainSettings>,
  logger: Logger,
): Promise<void> {
  const { server } = app;
  for (const event of ['request', 'checkContinue']) server.prependListener(event, endConnection);
  if (DRAIN_MS > 0) await after(DRAIN_MS).promise;

  const grace = after(DRAIN_GRACE_MS);
  const closed = app.close().then(() => 'closed' as const);
  const end = await Promise.race([closed, grace.promise]);
  grace.cancel();
  if (end !== 'closed') {
    const connections = await promisify(server.getConnections.bind(server))();
    logger.warn({ connections }, 'what still runs is cut off');
    cutAllOff(server);
    server.closeAllConnections();
    await closed;
  }
}

function endConnection(request: IncomingMessage, response: ServerResponse) {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && Number(length) <= SMALL_BODY_BYTES) response.setHeader('connection', 'close');
}

function after(ms: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
  return { promise, cancel: () => clearTimeout(timer) };
}
