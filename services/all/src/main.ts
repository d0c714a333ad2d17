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
import {
  observedBlocks,
  observedDownloadLeases,
  observedFileRequests,
  observedNotes,
  observedOwnedItems,
  observedReports,
  observedUploadSessions,
  observedUploads,
} from '@mayfly/store/observed';
import { openBlobs, uploadCeiling } from '@mayfly/store/open-blobs';
import { migrate, openDatabase } from '@mayfly/store/postgres/database';
import { postgresDownloadLeases } from '@mayfly/store/postgres/download-leases';
import { postgresFileRequests } from '@mayfly/store/postgres/file-requests';
import { postgresNotes } from '@mayfly/store/postgres/notes';
import { postgresOwnedNotes, postgresOwnedUploads } from '@mayfly/store/postgres/owned-items';
import { postgresBlocks, postgresReports } from '@mayfly/store/postgres/reports';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';
import { postgresUploadSessions } from '@mayfly/store/postgres/upload-sessions';
import { postgresUploads } from '@mayfly/store/postgres/uploads';

await runProcess(async (untilStopped) => {
  // The gateway's port is the one that counts: its settings come last.
  const settings = { ...filesSettings, ...notesSettings, ...janitorSettings, ...gatewaySettings(process.env) };
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'all');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'all', process.env));

  await migrate(config.DATABASE_URL);
  const db = stack.adopt(openDatabase(config, logger), (open) => open.destroy());
  const blobs = stack.use(await openBlobs(config, postgresStoreRecord(db), logger));
  const ceiling = await uploadCeiling(config);
  const keepsUseTimes = config.USE_TIMES !== 'none';
  const uploads = observedUploads(postgresUploads(db, { ...ceiling, keepsUseTimes }));
  const leases = observedDownloadLeases(postgresDownloadLeases(db, { keepsUseTimes }));
  const ownedUploads = observedOwnedItems(postgresOwnedUploads(db), 'ownedUploads');
  const requests = observedFileRequests(
    postgresFileRequests(db, { maxBytes: config.REQUESTS_STORAGE_MAX_BYTES || undefined, keepsUseTimes }),
  );
  const sessions = observedUploadSessions(postgresUploadSessions(db, ceiling));
  const maxBytes = config.NOTES_MAX_BYTES || undefined;
  const allNotes = observedNotes(postgresNotes(db, { maxBytes, keepsUseTimes }));
  const ownedNotes = observedOwnedItems(postgresOwnedNotes(db), 'ownedNotes');
  const takesReports = config.REPORTS === 'on';
  const desk = { reports: observedReports(postgresReports(db)), blocks: observedBlocks(postgresBlocks(db)) };
  const { redis } = stack.use(openRedis(config, 'commands', logger));
  const queue = stack.use(openRedis(config, 'queue', logger));

  const bodies = openBodyBudget(config.BODY_BUFFER_BYTES);
  const common = { limits: config, bodies, logger };
  const ofFiles = { uploads, sessions, leases, owned: ownedUploads, requests, blobs };
  const files = stack.use(buildFiles({ ...ofFiles, desk: takesReports ? desk : undefined, ...common }));
  const blocks = takesReports ? desk.blocks : undefined;
  const notes = stack.use(buildNotes({ notes: allNotes, owned: ownedNotes, blocks, ...common }));
  stack.use(buildJanitor({ db, blobs, redis: queue.redis, config, logger }));
  const upstreams = { files: await localUpstream(files), notes: await localUpstream(notes) };
  const isReady = () => uploads.check();
  const { app, admin } = await openGateway(stack, { config, upstreams, redis, scrape, logger, isReady });
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
