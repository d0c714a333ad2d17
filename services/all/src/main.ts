import { buildFiles, settings as filesSettings } from '@mayfly/files';
import { settings as gatewaySettings, localUpstream, openGateway } from '@mayfly/gateway';
import { buildJanitor, settings as janitorSettings } from '@mayfly/janitor';
import { buildNotes, settings as notesSettings } from '@mayfly/notes';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { openBodyBudget } from '@mayfly/shared/json-bodies';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openRedis } from '@mayfly/shared/redis';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openFileStores, openNoteStores } from '@mayfly/store/open-stores';
import { migrate, openDatabase } from '@mayfly/store/postgres/database';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';

await runProcess(async (untilStopped) => {
  // The gateway's port is the one that counts: its settings come last.
  const settings = { ...filesSettings, ...notesSettings, ...janitorSettings, ...gatewaySettings(process.env) };
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'all');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'all', process.env));

  await migrate(config.DATABASE_URL);
  const db = stack.use(openDatabase(config, logger));
  const blobs = stack.use(await openBlobs(config, postgresStoreRecord(db), logger));
  const fileStores = await openFileStores(db, config);
  const { redis } = stack.use(openRedis(config, 'commands', logger));
  const queue = stack.use(openRedis(config, 'queue', logger));

  const bodies = openBodyBudget(config.BODY_BUFFER_BYTES);
  const common = { limits: config, bodies, logger };
  const files = stack.use(buildFiles({ ...fileStores, blobs, ...common }));
  const notes = stack.use(buildNotes({ ...openNoteStores(db, config), ...common }));
  stack.use(buildJanitor({ db, blobs, redis: queue.redis, config, logger }));
  const upstreams = { files: await localUpstream(files), notes: await localUpstream(notes) };
  const isReady = () => fileStores.uploads.check();
  const { app, admin } = await openGateway(stack, { config, upstreams, redis, scrape, logger, isReady });
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
