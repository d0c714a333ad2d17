import {
  adminSettings,
  blobSettings,
  databaseSettings,
  drainSettings,
  httpSettings,
  portSettings,
  telemetrySettings,
  uploadSettings,
} from '@mayfly/shared/settings';

export { buildFiles } from './app.ts';

export const settings = {
  ...httpSettings,
  ...portSettings.files,
  ...uploadSettings,
  ...databaseSettings,
  ...blobSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
};
