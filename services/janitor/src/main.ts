import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openRedis } from '@mayfly/shared/redis';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresNoteSweep, postgresUploadSweep } from '@mayfly/store/postgres/sweep';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import { settings, startJanitor } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'janitor');
  await using stack = new AsyncDisposableStack();
  const db = stack.adopt(openDatabase(config, logger), (open) => open.destroy());
  const { redis } = stack.use(openRedis(config, 'queue', logger));
  const uploads = postgresUploads(db);
  const blobs = stack.use(await openBlobs(config, logger));
  const isReady = () => Promise.all([uploads.check(), blobs.check(), redis.ping()]);
  const admin = stack.use(await openAdmin(config, { isReady, logger }));
  stack.use(
    startJanitor({
      uploads: { ...uploads, ...postgresUploadSweep(db) },
      notes: postgresNoteSweep(db),
      blobs,
      redis,
      intervalSec: config.CLEANUP_INTERVAL_SEC,
      tombstoneTtlSec: config.TOMBSTONE_TTL_SEC,
      logger,
    }),
  );
  logger.info('sweeping');
  logger.info({ signal: await admin.serving(untilStopped) }, 'closing');
});
