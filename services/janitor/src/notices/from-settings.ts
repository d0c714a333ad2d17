import type { Config } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import { observed } from '@mayfly/store/observed';
import type { Database } from '@mayfly/store/postgres/database';
import { postgresNoteNotices, postgresRequestNotices, postgresUploadNotices } from '@mayfly/store/postgres/notices';
import type { noticeSenderSettings } from '../settings.ts';
import { askNameServers } from './names.ts';
import { pushKeysIn } from './push-keys.ts';
import { noticeSender } from './send.ts';
import { startNotices } from './start-notices.ts';

type NoticeConfig = Config<typeof noticeSenderSettings>;

/** Sends notices if the settings name anybody to send them to; undefined otherwise. Throws ConfigError when a key is missing. */
export function noticesFromSettings(db: Database, config: NoticeConfig, logger: Logger): AsyncDisposable | undefined {
  const { WEBHOOK_HOSTS, PUSH_HOSTS, NOTICE_NETWORKS } = config;
  const pushKeys = pushKeysIn(config);
  if (!WEBHOOK_HOSTS && !pushKeys) return undefined;
  const outboxes = {
    upload: observed('uploadNotices', postgresUploadNotices(db)),
    note: observed('noteNotices', postgresNoteNotices(db)),
    request: observed('requestNotices', postgresRequestNotices(db)),
  };
  const networks = NOTICE_NETWORKS ?? [];
  const hosts = { webhookHosts: WEBHOOK_HOSTS ?? [], pushHosts: PUSH_HOSTS };
  const send = noticeSender({ ...hosts, pushKeys, networks, names: askNameServers() });
  return startNotices({ outboxes, send, logger });
}
