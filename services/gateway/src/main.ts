import { loadConfig } from '@mayfly/shared/config';
import { drainServer } from '@mayfly/shared/drain-server';
import { buildLogger } from '@mayfly/shared/logger';
import { runProcess } from '@mayfly/shared/process';
import { openRedis } from '@mayfly/shared/redis';
import { openTelemetry } from '@mayfly/shared/telemetry/open';
import { openGateway, splitSettings } from './index.ts';
import { remoteUpstream } from './remote-upstream.ts';

await runProcess(async (untilStopped) => {
  const config = loadConfig(splitSettings(process.env), process.env);
  const logger = buildLogger(config, 'gateway');
  await using stack = new AsyncDisposableStack();
  const { scrape } = stack.use(await openTelemetry(config, 'gateway', process.env));
  const { redis } = stack.use(openRedis(config, 'commands', logger));
  const upstreams = {
    files: stack.use(remoteUpstream(config.FILES_URL, logger)),
    notes: stack.use(remoteUpstream(config.NOTES_URL, logger)),
  };
  const { app, admin } = await openGateway(stack, { config, upstreams, redis, scrape, logger });
  await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ signal: await admin.serving(untilStopped) }, 'draining');
  await drainServer(app, config, logger);
});
