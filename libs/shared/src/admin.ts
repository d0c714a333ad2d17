import { ErrorBody, Ok } from './answers.ts';
import { type App, createApp } from './app.ts';
import { ConfigError } from './config.ts';
import { serviceUnavailable } from './errors.ts';
import type { Logger } from './logger.ts';
import type { UntilStopped } from './process.ts';
import type { Telemetry } from './telemetry/open.ts';

export type AdminDeps = {
  logger: Logger;
  /** Whether this process can do its work now. A rejection and silence mean no. */
  isReady: () => Promise<unknown>;
  /** Answers `/metrics`, where the process measures. */
  scrape?: Telemetry['scrape'];
  /** What else operators may ask this process. */
  routes?: (app: App) => void;
  /** As on the public port, for what operators ask about it. */
  trustProxy?: number | string[];
};

export type Admin = AsyncDisposable & {
  /** Ready from here on, until something asks the process to stop: resolves with what it was. */
  serving(untilStopped: UntilStopped): Promise<string>;
};

const READY_WITHIN_MS = 2_000;

/**
 * The private port of a process: `/livez` while it runs, `/readyz` while it should get requests, `/metrics`. Open it before
 * the public port and close it after, so that a process that drains is alive and not ready. No ADMIN_PORT, no port.
 */
export async function openAdmin(
  config: { ADMIN_PORT: number | undefined; ADMIN_HOST: string },
  deps: AdminDeps,
): Promise<Admin> {
  let isServing = false;
  const app = createApp({ logger: deps.logger, isPublic: true, trustProxy: deps.trustProxy ?? 0 });
  app.get('/livez', { schema: { response: { 200: Ok } } }, async () => ({ ok: true as const }));
  app.get('/readyz', { schema: { response: { 200: Ok, 503: ErrorBody } } }, async (_request, reply) => {
    if (isServing && (await inTime(deps.isReady))) return { ok: true as const };
    const { headers, body } = serviceUnavailable(undefined);
    return reply.code(503).headers(headers).send(body); // a probe asks often: not an error to log
  });
  const { scrape } = deps;
  if (scrape) {
    app.get('/metrics', async (request, reply) => {
      reply.hijack();
      scrape(request.raw, reply.raw);
    });
  }
  deps.routes?.(app);
  if (config.ADMIN_PORT !== undefined) await listen(app, config.ADMIN_HOST, config.ADMIN_PORT);
  return {
    async serving(untilStopped) {
      isServing = true;
      const reason = await untilStopped();
      isServing = false;
      return reason;
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/** False when the check rejects, resolves with false, or says nothing in time. */
export async function inTime(check: () => Promise<unknown>, withinMs = READY_WITHIN_MS): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), withinMs);
  try {
    return (await Promise.race([check(), late])) !== false;
  } catch {
    return false; // not reachable is the answer
  } finally {
    clearTimeout(timer);
  }
}

async function listen(app: App, host: string, port: number) {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new ConfigError(`ADMIN_PORT is already in use (${port}).`, { cause });
    if (code === 'EADDRNOTAVAIL') throw new ConfigError('This machine has no address ADMIN_HOST.', { cause });
    throw cause;
  }
}
