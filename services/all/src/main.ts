import { buildFiles, settings as filesSettings } from '@mayfly/files';
import { settings as gatewaySettings, localUpstream, openGateway } from '@mayfly/gateway';
import { settings as janitorSettings, observeStats, openSweep, startJanitor } from '@mayfly/janitor';
import { buildNotes, settings as notesSettings } from '@mayfly/notes';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openRedis } from '@mayfly/shared/redis';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { observedNotes, observedUploads } from '@mayfly/store/observed';
import { openBlobs } from '@mayfly/store/open-blobs';
import { migrate, openDatabase } from '@mayfly/store/postgres/database';
import { postgresNotes } from '@mayfly/store/postgres/notes';
import { postgresStats } from '@mayfly/store/postgres/stats';
import { postgresUploads } from '@mayfly/store/postgres/uploads';

await runProcess(async (untilStopped) => {
  // The gateway's port is the one that counts: its settings come last.
  const settings = { ...filesSettings, ...notesSettings, ...janitorSettings, ...gatewaySettings };
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'all');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'all', process.env));

  const db = stack.adopt(openDatabase(config, logger), (open) => open.destroy());
  await migrate(db);
  const uploads = observedUploads(postgresUploads(db));
  const blobs = stack.use(await openBlobs(config, logger));
  const { redis } = stack.use(openRedis(config, 'commands', logger));
  const queue = stack.use(openRedis(config, 'queue', logger));

  const files = stack.use(buildFiles({ uploads, blobs, limits: config, logger }));
  const notes = stack.use(buildNotes({ notes: observedNotes(postgresNotes(db)), limits: config, logger }));
  stack.use(
    startJanitor({
      ...openSweep(db, blobs, config),
      redis: queue.redis,
      sweepSec: config.CLEANUP_INTERVAL_SEC,
      reconcileSec: config.RECONCILE_INTERVAL_SEC,
      logger,
    }),
  );
  observeStats(postgresStats(db), logger);
  const upstreams = { files: await localUpstream(files), notes: await localUpstream(notes) };
  const { app, admin } = await openGateway(stack, { config, upstreams, redis, scrape, logger });
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
