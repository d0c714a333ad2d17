import {
  adminSettings,
  bodySettings,
  corsSettings,
  drainSettings,
  fairnessSettings,
  gatewaySettings,
  httpSettings,
  limitSettings,
  noteSettings,
  portSettings,
  redisSettings,
  telemetrySettings,
  uploadSettings,
  upstreamSettings,
  webSettings,
} from '@mayfly/shared/settings';

export const settings = {
  ...httpSettings,
  ...portSettings.gateway,
  ...gatewaySettings(process.env.NODE_ENV === 'production'),
  ...uploadSettings,
  ...noteSettings,
  ...redisSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
  ...corsSettings,
  ...webSettings,
  ...limitSettings,
  ...fairnessSettings,
  ...bodySettings,
};

/** What the gateway needs besides when its services are on the network. */
export const splitSettings = { ...settings, ...upstreamSettings };
