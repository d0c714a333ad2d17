import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import { buildFiles, settings } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'files');
  await using stack = new AsyncDisposableStack();
  const db = stack.adopt(openDatabase(config, logger), (open) => open.destroy());
  const blobs = stack.use(await openBlobs(config, logger));
  const uploads = postgresUploads(db);
  const isReady = () => Promise.all([uploads.check(), blobs.check()]);
  const admin = stack.use(await openAdmin(config, { isReady, logger }));
  const app = stack.use(buildFiles({ uploads, blobs, limits: config, logger }));
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
