import ipaddr from 'ipaddr.js';

const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Whether the address is a machine's of the public internet, or in a network that the operator has listed. Nothing that leads elsewhere by way of another address. */
export function isAllowed(address: string, networks: string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (networks.some((network) => isWithin(parsed, network))) return true;
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6 as [ipaddr.IPv6, number]);
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, network: string): boolean {
  const [base, bits] = network.includes('/')
    ? ipaddr.parseCIDR(network)
    : ([ipaddr.parse(network), undefined] as const);
  if (base.kind() !== address.kind()) return false;
  return address.match(base as ipaddr.IPv6, bits ?? (base.kind() === 'ipv4' ? 32 : 128));
}
