import {
  adminSettings,
  databaseSettings,
  drainSettings,
  httpSettings,
  noteSettings,
  portSettings,
  telemetrySettings,
} from '@mayfly/shared/settings';

export { buildNotes } from './app.ts';

export const settings = {
  ...httpSettings,
  ...portSettings.notes,
  ...noteSettings,
  ...databaseSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
};
