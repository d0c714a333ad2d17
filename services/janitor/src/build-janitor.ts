import type { Config } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import type { PairedBlobs } from '@mayfly/store/paired-blobs';
import type { Database } from '@mayfly/store/postgres/database';
import { postgresDesk } from '@mayfly/store/postgres/reports';
import { postgresStats } from '@mayfly/store/postgres/stats';
import { cleanupDeps } from './cleanup-deps.ts';
import { startJanitor } from './janitor.ts';
import { noticesFromSettings } from './notices/from-settings.ts';
import type { janitorSettings, noticeSenderSettings } from './settings.ts';
import { observeStats } from './stats-metrics.ts';

type BuildDeps = {
  db: Database;
  blobs: PairedBlobs;
  /** A connection of its own for the queue (openRedis purpose `queue`). */
  redis: Redis;
  config: Config<typeof janitorSettings & typeof noticeSenderSettings>;
  logger: Logger;
};

/** The janitor as a process has it, in every shape: it works from now on, and its figures are observed. */
export function buildJanitor({ db, blobs, redis, config, logger }: BuildDeps): AsyncDisposable {
  observeStats(postgresStats(db), postgresDesk(db), logger);
  const stack = new AsyncDisposableStack();
  stack.use(noticesFromSettings(db, config, logger));
  stack.use(
    startJanitor({
      ...cleanupDeps(db, blobs, config),
      redis,
      sweepSec: config.CLEANUP_INTERVAL_SEC,
      reconcileSec: config.RECONCILE_INTERVAL_SEC,
      logger,
    }),
  );
  return stack;
}
