import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { openBodyBudget } from '@mayfly/shared/json-bodies';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { openNoteStores } from '@mayfly/store/open-stores';
import { openDatabase } from '@mayfly/store/postgres/database';
import { buildNotes, settings } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'notes');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'notes', process.env));
  const db = stack.use(openDatabase(config, logger));
  const stores = openNoteStores(db, config);
  const admin = stack.use(await openAdmin(config, { isReady: () => stores.notes.check(), scrape, logger }));
  const bodies = openBodyBudget(config.BODY_BUFFER_BYTES);
  const app = stack.use(buildNotes({ ...stores, limits: config, logger, bodies }));
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
