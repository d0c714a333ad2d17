export { localUpstream } from './local-upstream.ts';
export { openGateway } from './open-gateway.ts';
export { settings, splitSettings } from './settings.ts';
