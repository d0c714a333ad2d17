import { openAdmin } from '@mayfly/shared/admin';
import type { Config } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import type { Telemetry } from '@mayfly/shared/telemetry/open';
import { VERSION } from '@mayfly/shared/version';
import { buildGateway } from './app.ts';
import { brandFiles } from './brand.ts';
import { selfCheck } from './limits/http/self-check.ts';
import { requestLimits } from './limits/limits.ts';
import { observedLimits } from './limits/observed-limits.ts';
import { integrityHeaders } from './page-integrity.ts';
import type { Service } from './routes.ts';
import type { settings } from './settings.ts';
import { observeReplicas, type Upstream } from './upstream.ts';
import { offerManifest } from './waict.ts';
import { readWebApp } from './web-app.ts';
import { creationGuard } from './who-may-create.ts';

/** The gateway and its admin port, closed with the stack. The public port is the caller's to open, as the last thing. */
export async function openGateway(
  stack: AsyncDisposableStack,
  deps: {
    config: Config<ReturnType<typeof settings>>;
    upstreams: Record<Service, Upstream>;
    redis: Redis;
    scrape: Telemetry['scrape'];
    logger: Logger;
    /** What else must answer for this process to be ready. Its services and Redis need not: others would miss them, too. */
    isReady?: () => Promise<unknown>;
  },
) {
  const { config, upstreams, redis, scrape, logger, isReady = async () => true } = deps;
  observeReplicas(upstreams);
  const built = config.WEB_DIR === undefined ? undefined : readWebApp(config.WEB_DIR, integrityHeaders(config));
  const brand = brandFiles(config); // a logo that cannot be read is said at the start, whatever is served
  for (const [path, file] of brand) built?.files.set(path, file);
  const web = built && config.WAICT === 'report' ? offerManifest(built) : built;
  const guard = creationGuard(config);
  const requests = observedLimits(requestLimits({ redis, settings: config, logger }));
  const admin = stack.use(
    await openAdmin(config, {
      isReady,
      trustProxy: config.TRUST_PROXY,
      routes: (app) => selfCheck(app, requests),
      scrape,
      logger,
    }),
  );
  const facts = { limits: config, settings: config, baseUrl: config.BASE_URL, corsOrigins: config.CORS_ORIGINS };
  const app = stack.use(
    buildGateway({ upstreams, redis, logger, version: VERSION, web, creationGuard: guard, ...facts }, requests),
  );
  return { app, admin };
}
