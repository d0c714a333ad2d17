import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openRedis } from '@mayfly/shared/redis';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresNotes } from '@mayfly/store/postgres/notes';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import { buildJanitor, settings } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'janitor');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'janitor', process.env));
  const db = stack.use(openDatabase(config, logger));
  const { redis } = stack.use(openRedis(config, 'queue', logger));
  const [uploads, notes] = [postgresUploads(db), postgresNotes(db)];
  const blobs = stack.use(await openBlobs(config, postgresStoreRecord(db), logger));
  // It sweeps without Redis, and what the blob store cannot delete now waits: neither says anything about this process.
  const isReady = () => Promise.all([uploads.check(), notes.check()]);
  const admin = stack.use(await openAdmin(config, { isReady, scrape, logger }));
  stack.use(buildJanitor({ db, blobs, redis, config, logger }));
  logger.info('sweeping');
  logger.info({ signal: await admin.serving(untilStopped) }, 'closing');
});
