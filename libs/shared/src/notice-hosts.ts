import { isIP } from 'node:net';

/** An address, or a name, with a port behind it where that is not 443. `*.` stands for any names before, `*` for any name. */
const PATTERN = /^(\*|(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?|\[[0-9a-f:.]+\](:\d{1,5})?)$/;
/** No blank, nothing that is spelled in more than one way. */
const ADDRESS = /^https:\/\/([a-z0-9.:[\]-]+)(?:[/?][\x21-\x5b\x5d-\x7e]*)?$/i;
const MOST_CHARACTERS = 1_024;

/** Hosts as an operator names them; undefined when one is none. */
export function parseHosts(text: string): string[] | undefined {
  const hosts = text.split(',').map((part) => part.trim().toLowerCase());
  return hosts.every((host) => PATTERN.test(host)) ? hosts : undefined;
}

/**
 * The host of an https:// address with its port, if it is among those that are allowed and spelled as everybody would: no credentials, no
 * dot at the end, no number that is an address in disguise. An address of a machine only when it is named itself. Undefined for any other.
 */
export function allowedHost(address: string, allowed: string[]): string | undefined {
  const spelled = address.length <= MOST_CHARACTERS ? ADDRESS.exec(address)?.[1]?.toLowerCase() : undefined;
  if (spelled === undefined || address.includes('#') || !URL.canParse(address)) return undefined;
  const { host, hostname } = new URL(address);
  if (host !== spelled.replace(/:443$/, '') || hostname.endsWith('.')) return undefined;
  return allowed.some((pattern) => matches(pattern.replace(/:443$/, ''), { host, hostname })) ? host : undefined;
}

function matches(pattern: string, { host, hostname }: { host: string; hostname: string }): boolean {
  if (pattern === host) return true;
  const isName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && hostname.includes('.');
  if (!isName) return false;
  return pattern === '*' ? host === hostname : pattern.startsWith('*.') && host.endsWith(pattern.slice(1));
}
