import { Writable } from 'node:stream';
import { testRedisUrl } from '@mayfly/local-stores/testing';
import { loadConfig } from '@mayfly/shared/config';
import { openRedis } from '@mayfly/shared/redis';
import { bodySettings, noteSettings, uploadSettings } from '@mayfly/shared/settings';
import { pino } from 'pino';
import { buildGateway } from '../src/app.ts';
import type { GatewayDeps } from '../src/deps.ts';
import { fairnessSettings, limitSettings } from '../src/settings.ts';
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

/** A gateway in this process, without limits, whose two services are one upstream. */
export async function startGateway(upstream: Upstream, changes: Partial<GatewayDeps> = {}) {
  const stack = new AsyncDisposableStack();
  const { redis } = stack.use(openRedis({ REDIS_URL: testRedisUrl(), REDIS_TIMEOUT_MS: 2_000 }, 'commands', silent));
  const app = stack.use(
    buildGateway({
      upstreams: { files: upstream, notes: upstream },
      redis,
      limits: loadConfig({ ...uploadSettings, ...noteSettings }, {}),
      settings: loadConfig({ ...limitSettings, ...fairnessSettings, ...bodySettings }, UNLIMITED),
      baseUrl: 'https://public.example',
      version: '1',
      logger: silent,
      ...changes,
    }),
  );
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
