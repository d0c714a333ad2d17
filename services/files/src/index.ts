import { port } from '@mayfly/shared/config';
import {
  adminSettings,
  blobSettings,
  bodySettings,
  databaseSettings,
  drainSettings,
  guardSettings,
  httpSettings,
  ownerSettings,
  reportSettings,
  requestSettings,
  storageSettings,
  telemetrySettings,
  uploadSettings,
} from '@mayfly/shared/settings';

export { buildFiles } from './app.ts';

export const settings = {
  ...httpSettings,
  ...bodySettings,
  PORT: port('3001', 'port of the process'),
  ...uploadSettings,
  ...ownerSettings,
  ...requestSettings,
  ...guardSettings,
  ...reportSettings,
  ...storageSettings,
  ...databaseSettings,
  ...blobSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
};
