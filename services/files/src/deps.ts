import type { App } from '@mayfly/shared/app';
import type { Config } from '@mayfly/shared/config';
import type { BodyBudget } from '@mayfly/shared/json-bodies';
import type { Logger } from '@mayfly/shared/logger';
import type {
  guardSettings,
  ownerSettings,
  reportSettings,
  requestSettings,
  uploadSettings,
} from '@mayfly/shared/settings';
import type { Funnel } from '@mayfly/shared/telemetry/funnel';
import type { BlobStore } from '@mayfly/store/blobs';
import type { DownloadLeases } from '@mayfly/store/download-leases';
import type { FileRequests } from '@mayfly/store/file-requests';
import type { OwnedItems } from '@mayfly/store/owned-items';
import type { Blocks, Reports } from '@mayfly/store/reports';
import type { UploadSessions } from '@mayfly/store/upload-sessions';
import type { Uploads } from '@mayfly/store/uploads';

export type { App };

export type FilesDeps = {
  uploads: Uploads;
  sessions: UploadSessions;
  leases: DownloadLeases;
  owned: OwnedItems;
  requests: FileRequests;
  /** Where reports are taken. */
  desk?: { reports: Reports; blocks: Blocks } | undefined;
  blobs: BlobStore;
  limits: Config<typeof uploadSettings & typeof ownerSettings & typeof requestSettings> &
    Partial<Config<typeof guardSettings & typeof reportSettings>>;
  logger: Logger;
  /** What the JSON bodies of this process may take. */
  bodies?: BodyBudget;
  /** Counts what happens to uploads. */
  funnel: Funnel;
  /** The same for requests. */
  requestFunnel: Funnel;
  newId?: () => string;
};
