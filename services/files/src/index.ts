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
  ...storageSettings,
  ...databaseSettings,
  ...blobSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
};
