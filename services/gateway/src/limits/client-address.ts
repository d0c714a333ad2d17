import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Who is counted as one client: an IPv4 address, or the /64 that one IPv6 subscriber gets. An IPv4 address inside IPv6 is
 * IPv4, and a port that a proxy adds is no part of a client. Text that is no address stands for itself. Decision 12.
 */
export function clientOf(address: string): string {
  if (isIPv4(address)) return address; // what nearly all are
  const plain = withoutPort(address).split('%', 1)[0] ?? ''; // without the zone of a link-local address
  if (!ipaddr.isValid(plain)) return plain;
  const parsed = ipaddr.process(plain);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/64`)}/64`;
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711`: otherwise each connection would be a client of its own. */
function withoutPort(address: string): string {
  const match = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]+)\])(?::\d+)?$/.exec(address);
  return match?.[1] ?? match?.[2] ?? address;
}
