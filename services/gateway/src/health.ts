import { inTime } from '@mayfly/shared/admin';
import { Timestamp } from '@mayfly/shared/fields';
import Type, { type Static } from 'typebox';
import type { App, GatewayDeps } from './deps.ts';
import { OWN } from './routes.ts';

const Up = Type.Union([Type.Literal('ok'), Type.Literal('down')]);
const Health = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
  version: Type.String(),
  timestamp: Timestamp,
  components: Type.Object({ files: Up, notes: Up, redis: Up }),
});
type Health = Static<typeof Health>;

/** How long an answer is given again. What was down may be back at any moment. */
const FRESH_MS = { ok: 1_000, degraded: 100 };

/** Contract: GET /api/health. All who ask share one look: decision shared-health-look. */
export function health(app: App, { upstreams, redis, version }: GatewayDeps) {
  const schema = {
    operationId: 'getHealth',
    tags: ['service'],
    summary: 'Whether the service and its parts work',
    response: { 200: Health, 503: Health },
  };
  let last: { health: Health; at: number } | undefined;
  let looking: Promise<Health> | undefined;

  async function look(): Promise<Health> {
    const at = performance.now();
    const timestamp = new Date().toISOString();
    const [files, notes, written] = await Promise.all([
      inTime(() => upstreams.files.isReady()),
      inTime(() => upstreams.notes.isReady()),
      // What the limits need: a server that is full, or a replica, answers a ping all the same.
      inTime(() => redis.set('mayfly:health', '', 'PX', 10_000)),
    ]);
    const health: Health = {
      status: files && notes && written ? 'ok' : 'degraded',
      version,
      timestamp,
      components: { files: upOrDown(files), notes: upOrDown(notes), redis: upOrDown(written) },
    };
    last = { health, at };
    looking = undefined;
    return health;
  }

  function current(): Health | Promise<Health> {
    if (last && performance.now() - last.at < FRESH_MS[last.health.status]) return last.health;
    looking ??= look();
    return looking;
  }

  app.get(OWN.health.url, { schema, config: { isUncounted: true, isForMonitors: true } }, async (_request, reply) => {
    const health = await current();
    return reply.code(health.status === 'ok' ? 200 : 503).send(health);
  });
}

const upOrDown = (isUp: boolean) => (isUp ? ('ok' as const) : ('down' as const));
