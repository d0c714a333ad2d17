import { Writable } from 'node:stream';
import { loadConfig } from '@mayfly/shared/config';
import type { App } from '@mayfly/shared/fastify-app';
import { openRedis, type Redis } from '@mayfly/shared/redis';
import { bodySettings, noteSettings, ownerSettings, requestSettings, uploadSettings } from '@mayfly/shared/settings';
import { freshRedis, testRedisUrl } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { buildGateway } from '../src/app.ts';
import type { GatewayDeps } from '../src/deps.ts';
import { localUpstream } from '../src/index.ts';
import { remoteUpstream } from '../src/remote-upstream.ts';
import { fairnessSettings, limitSettings, sealSettings, workSettings } from '../src/settings.ts';
import type { Upstream } from '../src/upstream.ts';

export const silent = pino({ level: 'silent' });

type Line = { level: number; msg: string; [field: string]: unknown };

/** A logger whose lines a test looks at. */
export function capturing() {
  const lines: Line[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { logger: pino(stream), lines: () => lines, messages: () => lines.map(({ msg }) => msg) };
}

const UNLIMITED = { RATE_LIMIT_MAX: '0', UPLOAD_QUOTA_BYTES: '0', TOKEN_FAILURES_MAX: '0' };

/** Where the service runs behind the gateway: in its process, or at the other end of a connection. */
export type Place = 'local' | 'remote';

/** A service as the gateway sees it. The stack closes it. */
export async function upstreamTo(stack: AsyncDisposableStack, service: App, place: Place): Promise<Upstream> {
  stack.defer(async () => {
    service.server.closeAllConnections();
    await service.close();
  });
  if (place === 'local') return localUpstream(service);
  return stack.use(remoteUpstream(await service.listen({ port: 0, host: '127.0.0.1' }), silent));
}

/** A connection to a Redis of its own. */
export async function freshConnection(stack: AsyncDisposableStack): Promise<Redis> {
  const store = stack.use(await freshRedis());
  const { redis } = stack.use(openRedis({ REDIS_URL: store.url, REDIS_TIMEOUT_MS: 2_000 }, 'commands', silent));
  await new Promise((resolve) => redis.once('ready', resolve));
  return redis;
}

/** A gateway in this process, whose two services are one upstream; without limits but those that are given. */
export async function startGateway(
  upstream: Upstream,
  changes: Partial<GatewayDeps> = {},
  given: Record<string, string> = {},
) {
  const stack = new AsyncDisposableStack();
  const { redis } = stack.use(openRedis({ REDIS_URL: testRedisUrl(), REDIS_TIMEOUT_MS: 2_000 }, 'commands', silent));
  const app = stack.use(
    buildGateway({
      upstreams: { files: upstream, notes: upstream },
      redis,
      limits: loadConfig(
        { ...uploadSettings, ...noteSettings, ...ownerSettings, ...requestSettings, ...sealSettings },
        {},
      ),
      settings: loadConfig(
        { ...limitSettings, ...workSettings, ...fairnessSettings, ...bodySettings },
        { ...UNLIMITED, ...given },
      ),
      baseUrl: 'https://public.example',
      version: '1',
      logger: silent,
      ...changes,
    }),
  );
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
