import {
  adminSettings,
  corsSettings,
  gatewaySettings,
  httpSettings,
  limitSettings,
  noteSettings,
  portSettings,
  redisSettings,
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
  ...corsSettings,
  ...webSettings,
  ...limitSettings,
};

/** What the gateway needs besides when its services are on the network. */
export const splitSettings = { ...settings, ...upstreamSettings };
