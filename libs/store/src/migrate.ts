import { loadConfig } from '@mayfly/shared/config';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { databaseSettings, httpSettings } from '@mayfly/shared/settings';
import { migrate } from './postgres/database.ts';

await runProcess(async () => {
  const config = loadConfig({ LOG_LEVEL: httpSettings.LOG_LEVEL, ...databaseSettings }, process.env);
  const logger = buildLogger(config, 'migrate');
  await migrate(config.DATABASE_URL);
  logger.info('the tables are up to date');
});
