import { isNetwork, parseUrl, setting } from './config.ts';
import { parseHosts } from './notice-hosts.ts';

// Values of the settings of notices.

/** Hosts that notices may go to. */
export const hosts = setting(
  'host names such as hooks.example.org, *.example.org or hooks.example.org:8443, or * for any',
  parseHosts,
);
/** Addresses of machines, or whole networks. */
export const networks = setting('addresses or networks such as 10.1.0.0/16, separated by commas', (value) => {
  const all = value.split(',').map((part) => part.trim());
  return all.every(isNetwork) ? all : undefined;
});
/** Whom to write to. */
export const contact = setting('a mailto: or https:// address', (value) => parseUrl(value, ['mailto:', 'https:']));
/** Some bytes, as base64url without padding. */
export const base64urlBytes = (length: number) =>
  setting(`base64url of ${length} bytes`, (value) =>
    /^[A-Za-z0-9_-]+$/.test(value) && Buffer.from(value, 'base64url').length === length ? value : undefined,
  );
