import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The networks of an IPv6 client, with how many times as many wrong tokens may come from each. Decision 79. */
const IPV6_NETWORKS = [
  { bits: 64, mask: 0xffff, share: 1 },
  { bits: 56, mask: 0xff00, share: 4 },
  { bits: 48, mask: 0, share: 8 },
] as const;

export type Network = { network: string; share: number };

/**
 * Who is counted as one client: an IPv4 address, or the /64 that one IPv6 subscriber gets. An IPv4 address inside IPv6 is
 * IPv4, and a port that a proxy adds is no part of a client. Text that is no address stands for itself. Decision 12.
 */
export function clientOf(address: string): string {
  return networksOf(address, 1)[0].network;
}

/** The networks whose wrong tokens count together, the client's own first. */
export function networksOf(address: string, most: number = IPV6_NETWORKS.length): [Network, ...Network[]] {
  if (isIPv4(address)) return [{ network: address, share: 1 }]; // what nearly all are
  const plain = withoutPort(address).split('%', 1)[0] ?? ''; // without the zone of a link-local address
  if (!ipaddr.isValid(plain)) return [{ network: plain, share: 1 }];
  const parsed = ipaddr.process(plain);
  if (!(parsed instanceof ipaddr.IPv6)) return [{ network: parsed.toString(), share: 1 }];
  const [first = 0, second = 0, third = 0, fourth = 0] = parsed.parts;
  const networkOf = ({ bits, mask, share }: (typeof IPV6_NETWORKS)[number]): Network => {
    const base = new ipaddr.IPv6([first, second, third, fourth & mask, 0, 0, 0, 0]);
    return { network: `${base}/${bits}`, share };
  };
  const [own, ...wider] = IPV6_NETWORKS;
  return [networkOf(own), ...wider.slice(0, most - 1).map(networkOf)];
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711`: otherwise each connection would be a client of its own. */
function withoutPort(address: string): string {
  const match = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]+)\])(?::\d+)?$/.exec(address);
  return match?.[1] ?? match?.[2] ?? address;
}
