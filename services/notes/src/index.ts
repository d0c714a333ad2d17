import { bytes, optional, port } from '@mayfly/shared/config';
import {
  adminSettings,
  bodySettings,
  databaseSettings,
  drainSettings,
  httpSettings,
  noteSettings,
  ownerSettings,
  reportSettings,
  telemetrySettings,
} from '@mayfly/shared/settings';

export { buildNotes } from './app.ts';

const { REPORTS } = reportSettings;

export const settings = {
  ...httpSettings,
  ...bodySettings,
  PORT: port('3002', 'port of the process'),
  ...noteSettings,
  ...ownerSettings,
  REPORTS,
  NOTES_MAX_BYTES: optional(
    bytes(
      undefined,
      'most bytes of the contents of all notes together, as base64; no limit unless set (0: no limit), npm start sets a twentieth of its disk',
    ),
  ),
  ...databaseSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
};
