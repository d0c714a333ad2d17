import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { openBodyBudget } from '@mayfly/shared/json-bodies';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import {
  observedBlocks,
  observedDownloadLeases,
  observedFileRequests,
  observedOwnedItems,
  observedReports,
  observedUploadSessions,
  observedUploads,
} from '@mayfly/store/observed';
import { openBlobs, uploadCeiling } from '@mayfly/store/open-blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresDownloadLeases } from '@mayfly/store/postgres/download-leases';
import { postgresFileRequests } from '@mayfly/store/postgres/file-requests';
import { postgresOwnedUploads } from '@mayfly/store/postgres/owned-items';
import { postgresBlocks, postgresReports } from '@mayfly/store/postgres/reports';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';
import { postgresUploadSessions } from '@mayfly/store/postgres/upload-sessions';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import { buildFiles, settings } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'files');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'files', process.env));
  const db = stack.adopt(openDatabase(config, logger), (open) => open.destroy());
  const blobs = stack.use(await openBlobs(config, postgresStoreRecord(db), logger));
  const ceiling = await uploadCeiling(config);
  const keepsUseTimes = config.USE_TIMES !== 'none';
  const uploads = observedUploads(postgresUploads(db, { ...ceiling, keepsUseTimes }));
  const leases = observedDownloadLeases(postgresDownloadLeases(db, { keepsUseTimes }));
  const owned = observedOwnedItems(postgresOwnedUploads(db), 'ownedUploads');
  const requests = observedFileRequests(
    postgresFileRequests(db, { maxBytes: config.REQUESTS_STORAGE_MAX_BYTES || undefined, keepsUseTimes }),
  );
  const sessions = observedUploadSessions(postgresUploadSessions(db, ceiling));
  const takesReports = config.REPORTS === 'on';
  const desk = { reports: observedReports(postgresReports(db)), blocks: observedBlocks(postgresBlocks(db)) };
  // Without its blob store, or with a full one, it still serves what needs no payload; health tells.
  const isReady = () => uploads.check();
  const admin = stack.use(await openAdmin(config, { isReady, scrape, logger }));
  const app = stack.use(
    buildFiles({
      uploads,
      sessions,
      leases,
      owned,
      requests,
      desk: takesReports ? desk : undefined,
      blobs,
      limits: config,
      logger,
      bodies: openBodyBudget(config.BODY_BUFFER_BYTES),
    }),
  );
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
