import {
  adminSettings,
  bodySettings,
  databaseSettings,
  drainSettings,
  httpSettings,
  noteSettings,
  noteStorageSettings,
  portSettings,
  telemetrySettings,
} from '@mayfly/shared/settings';

export { buildNotes } from './app.ts';

export const settings = {
  ...httpSettings,
  ...bodySettings,
  ...portSettings.notes,
  ...noteSettings,
  ...noteStorageSettings,
  ...databaseSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
};
