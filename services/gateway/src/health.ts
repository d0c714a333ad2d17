import { Timestamp } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, GatewayDeps } from './deps.ts';

const Up = Type.Union([Type.Literal('ok'), Type.Literal('down')]);
const Health = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
  version: Type.String(),
  timestamp: Timestamp,
  components: Type.Object({ files: Up, notes: Up, redis: Up }),
});

/** Contract: GET /api/health; its shape is decision 9. */
export function health(app: App, { upstreams, redis, version }: GatewayDeps) {
  const schema = {
    operationId: 'getHealth',
    tags: ['service'],
    summary: 'Whether the service and its parts work',
    response: { 200: Health, 503: Health },
  };
  app.get('/api/health', { schema }, async (_request, reply) => {
    const [files, notes, pong] = await Promise.all([
      upstreams.files.isReady(),
      upstreams.notes.isReady(),
      redis.ping().then(
        () => true,
        () => false, // Redis being away is what is asked for
      ),
    ]);
    const isUp = files && notes && pong;
    return reply.code(isUp ? 200 : 503).send({
      status: isUp ? 'ok' : 'degraded',
      version,
      timestamp: new Date().toISOString(),
      components: { files: upOrDown(files), notes: upOrDown(notes), redis: upOrDown(pong) },
    });
  });
}

const upOrDown = (isUp: boolean) => (isUp ? ('ok' as const) : ('down' as const));
