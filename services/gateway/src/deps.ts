import type { App, Patience } from '@mayfly/shared/app';
import type { Config } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import type {
  bodySettings,
  noteSettings,
  ownerSettings,
  reportSettings,
  requestSettings,
  uploadSettings,
} from '@mayfly/shared/settings';
import type { Service } from './routes.ts';
import type { securitySettings } from './security-txt.ts';
import type { fairnessSettings, limitSettings, sealSettings, workSettings } from './settings.ts';
import type { Upstream } from './upstream.ts';
import type { WebApp } from './web-app.ts';
import type { CreationGuard } from './who-may-create.ts';

export type { App };

export type GatewayDeps = {
  upstreams: Record<Service, Upstream>;
  redis: Redis;
  limits: Config<
    typeof uploadSettings & typeof noteSettings & typeof ownerSettings & typeof requestSettings & typeof sealSettings
  > &
    Partial<Config<typeof reportSettings>>;
  /** Public address without a slash at the end; undefined takes the request's own. Contract 1. */
  baseUrl: string | undefined;
  version: string;
  /**
   * Rate limit, quota, guessing and fairness. Decisions client-address, daily-quota, guesses-count-at-start and
   * requests-under-way.
   */
  settings: Config<typeof limitSettings & typeof workSettings & typeof fairnessSettings & typeof bodySettings> &
    Partial<Config<typeof securitySettings>>;
  logger: Logger;
  /** Origins whose scripts may use the API. */
  corsOrigins?: string[] | undefined;
  /** Who may create; everybody when undefined. Decision keys-to-create. */
  creationGuard?: CreationGuard | undefined;
  /** The pages; none when undefined. */
  web?: WebApp | undefined;
  patience?: Partial<Patience>;
  now?: () => number;
};
