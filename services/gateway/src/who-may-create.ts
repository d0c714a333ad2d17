import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { type Config, ConfigError } from '@mayfly/shared/config';
import type { guardSettings } from '@mayfly/shared/settings';
import type { keySettings, limitSettings } from './settings.ts';

/** How it is told whether a request may create. Decisions keys-to-create and headers-of-proxies. */
export type CreationGuard = {
  kind: 'key' | 'header';
  permits: (request: IncomingMessage) => boolean;
  /** Lower-case name of the header that it looks at, which goes no further. */
  header: string;
};

type Settings = Config<typeof guardSettings & typeof keySettings & Pick<typeof limitSettings, 'TRUST_PROXY'>>;

/** Long enough that nobody finds one: a key is compared by a plain hash. */
const BEARER = /^Bearer +(mfk_[A-Za-z0-9_-]{22,512})$/i;

/** As the settings say; undefined when everybody may. Throws ConfigError for what would let in nobody, or anybody. */
export function creationGuard(settings: Settings): CreationGuard | undefined {
  const { CREATE_GUARD, CREATE_KEYS, CREATE_HEADER, CREATE_HEADER_VALUES, TRUST_PROXY } = settings;
  if (CREATE_GUARD === 'open') return undefined;
  if (CREATE_GUARD === 'key') {
    if (!CREATE_KEYS) throw new ConfigError('CREATE_KEYS is missing (CREATE_GUARD=key)');
    return byKey(CREATE_KEYS);
  }
  if (!CREATE_HEADER) throw new ConfigError('CREATE_HEADER is missing (CREATE_GUARD=header)');
  if (typeof TRUST_PROXY === 'number')
    throw new ConfigError('TRUST_PROXY must name the proxies by their addresses (CREATE_GUARD=header)');
  return byHeader(CREATE_HEADER, CREATE_HEADER_VALUES, trusted(TRUST_PROXY));
}

const byKey = (keys: ReadonlySet<string>): CreationGuard => ({
  kind: 'key',
  header: 'authorization',
  permits({ headers }) {
    const key = BEARER.exec(headers.authorization ?? '')?.[1];
    return key !== undefined && keys.has(createHash('sha256').update(key).digest('hex'));
  },
});

/** Sent twice it is nobody's word: one may be the client's. */
const byHeader = (header: string, values: ReadonlySet<string> | undefined, proxies: BlockList): CreationGuard => ({
  kind: 'header',
  header,
  permits({ headersDistinct, socket }) {
    const [value = '', ...others] = headersDistinct[header] ?? [];
    if (value === '' || others.length > 0) return false;
    return isFrom(proxies, socket.remoteAddress) && (values?.has(value) ?? true);
  },
});

function trusted(networks: string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Whoever is at the other end of the connection: what headers say of addresses does not count here. */
const isFrom = (proxies: BlockList, address = '') => proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
