import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { observedUploads } from '@mayfly/store/observed';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import { buildFiles, settings } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'files');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'files', process.env));
  const db = stack.adopt(openDatabase(config, logger), (open) => open.destroy());
  const blobs = stack.use(await openBlobs(config, logger));
  const uploads = observedUploads(postgresUploads(db));
  const isReady = () => Promise.all([uploads.check(), blobs.check()]);
  const admin = stack.use(await openAdmin(config, { isReady, scrape, logger }));
  const app = stack.use(buildFiles({ uploads, blobs, limits: config, logger }));
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
