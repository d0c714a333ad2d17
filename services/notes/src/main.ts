import { openAdmin } from '@mayfly/shared/admin';
import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { openBodyBudget } from '@mayfly/shared/json-bodies';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { observedBlocks, observedNotes, observedOwnedItems } from '@mayfly/store/observed';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresNotes } from '@mayfly/store/postgres/notes';
import { postgresOwnedNotes } from '@mayfly/store/postgres/owned-items';
import { postgresBlocks } from '@mayfly/store/postgres/reports';
import { buildNotes, settings } from './index.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(settings, process.env);
  const logger = buildLogger(config, 'notes');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'notes', process.env));
  const db = stack.adopt(openDatabase(config, logger), (open) => open.destroy());
  const keepsUseTimes = config.USE_TIMES !== 'none';
  const notes = observedNotes(postgresNotes(db, { maxBytes: config.NOTES_MAX_BYTES || undefined, keepsUseTimes }));
  const owned = observedOwnedItems(postgresOwnedNotes(db), 'ownedNotes');
  const blocks = config.REPORTS === 'on' ? observedBlocks(postgresBlocks(db)) : undefined;
  const admin = stack.use(await openAdmin(config, { isReady: () => notes.check(), scrape, logger }));
  const app = stack.use(
    buildNotes({ notes, owned, blocks, limits: config, logger, bodies: openBodyBudget(config.BODY_BUFFER_BYTES) }),
  );
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
