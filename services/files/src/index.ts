import {
  adminSettings,
  blobSettings,
  bodySettings,
  databaseSettings,
  drainSettings,
  httpSettings,
  portSettings,
  storageSettings,
  telemetrySettings,
  uploadSettings,
} from '@mayfly/shared/settings';

export { buildFiles } from './app.ts';

export const settings = {
  ...httpSettings,
  ...bodySettings,
  ...portSettings.files,
  ...uploadSettings,
  ...storageSettings,
  ...databaseSettings,
  ...blobSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
};
