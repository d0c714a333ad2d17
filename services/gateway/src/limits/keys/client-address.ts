import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The networks of an IPv6 client: how many bits they have, of which those of the fourth group. Decision
 * guesses-count-at-start.
 */
const IPV6_NETWORKS = [
  { bits: 64, mask: 0xffff },
  { bits: 56, mask: 0xff00 },
  { bits: 48, mask: 0 },
] as const;

/**
 * Who is counted as one client: an IPv4 address, or the /64 that one IPv6 subscriber gets. An IPv4 address inside IPv6 is
 * IPv4, and a port that a proxy adds is no part of a client. Text that is no address stands for itself. Decision
 * client-address.
 */
export function clientOf(address: string): string {
  return networksOf(address, 1)[0];
}

/** The networks whose wrong tokens count together, the client's own first. */
export function networksOf(address: string, most: number = IPV6_NETWORKS.length): [string, ...string[]] {
  if (isIPv4(address)) return [address]; // what nearly all are
  const plain = withoutPort(address).split('%', 1)[0] ?? ''; // without the zone of a link-local address
  if (!ipaddr.isValid(plain)) return [plain];
  const parsed = ipaddr.process(plain);
  if (!(parsed instanceof ipaddr.IPv6)) return [parsed.toString()];
  const [first = 0, second = 0, third = 0, fourth = 0] = parsed.parts;
  const networkOf = ({ bits, mask }: (typeof IPV6_NETWORKS)[number]) => {
    const base = new ipaddr.IPv6([first, second, third, fourth & mask, 0, 0, 0, 0]);
    return `${base}/${bits}`;
  };
  const [own, ...wider] = IPV6_NETWORKS;
  return [networkOf(own), ...wider.slice(0, most - 1).map(networkOf)];
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711`: otherwise each connection would be a client of its own. */
function withoutPort(address: string): string {
  const match = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]+)\])(?::\d+)?$/.exec(address);
  return match?.[1] ?? match?.[2] ?? address;
}
