import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { openBodyBudget } from '@mayfly/shared/json-bodies';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openFileStores } from '@mayfly/store/open-stores';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';
import { buildFiles, settings } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'files');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'files', process.env));
  const db = stack.use(openDatabase(config, logger));
  const blobs = stack.use(await openBlobs(config, postgresStoreRecord(db), logger));
  const stores = await openFileStores(db, config);
  // Without its blob store, or with a full one, it still serves what needs no payload; health tells.
  const isReady = () => stores.uploads.check();
  const admin = stack.use(await openAdmin(config, { isReady, scrape, logger }));
  const bodies = openBodyBudget(config.BODY_BUFFER_BYTES);
  const app = stack.use(buildFiles({ ...stores, blobs, limits: config, logger, bodies }));
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
