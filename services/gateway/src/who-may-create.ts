import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { type Config, ConfigError } from '@mayfly/shared/config';
import type { guardSettings } from '@mayfly/shared/settings';
import type { Creator } from './limits/creator-quotas.ts';
import type { keySettings, limitSettings, signInSettings } from './settings.ts';
import type { CreateTokens } from './sign-in/create-tokens.ts';
import type { IssuerSettings } from './sign-in/issuer.ts';

/** How it is told whether a request may create. Decisions keys-to-create, headers-of-proxies and sign-in-without-cookies. */
export type CreationGuard = {
  kind: 'key' | 'header' | 'oidc';
  /** Whom it lets create, and undefined when nobody. */
  creatorOf: (request: IncomingMessage, tokens: CreateTokens) => Creator | undefined | Promise<Creator | undefined>;
  /** What is said to anybody else. */
  needs: string;
  /** Where people sign in, if that is how. */
  signIn?: SignIn;
  /** Lower-case name of the header that it looks at, which goes no further. */
  header: string;
};

type SignIn = IssuerSettings & Pick<Config<typeof signInSettings>, 'OIDC_SESSION_SEC'>;
type Settings = Config<
  typeof guardSettings & typeof keySettings & typeof signInSettings & Pick<typeof limitSettings, 'TRUST_PROXY'>
>;

const NEEDS_KEY = 'Creating needs a key';

/** Long enough that nobody finds one: a key is compared by a plain hash. */
const KEY = /^Bearer +(mfk_[A-Za-z0-9_-]{22,512})$/i;

const TOKEN = /^Bearer +(mfo_[\w.-]{1,200})$/i;

/** As the settings say; undefined when everybody may. Throws ConfigError for what would let in nobody, or anybody. */
export function creationGuard(settings: Settings): CreationGuard | undefined {
  const { CREATE_GUARD, CREATE_KEYS, CREATE_HEADER, CREATE_HEADER_VALUES, CREATE_QUOTA_BYTES, TRUST_PROXY } = settings;
  if (CREATE_GUARD === 'open') return undefined;
  if (CREATE_GUARD === 'key') {
    if (!CREATE_KEYS) throw new ConfigError('CREATE_KEYS is missing (CREATE_GUARD=key)');
    return byKey(CREATE_KEYS, CREATE_QUOTA_BYTES);
  }
  if (CREATE_GUARD === 'oidc') return bySignIn(signInOf(settings), CREATE_QUOTA_BYTES);
  if (!CREATE_HEADER) throw new ConfigError('CREATE_HEADER is missing (CREATE_GUARD=header)');
  if (typeof TRUST_PROXY === 'number')
    throw new ConfigError('TRUST_PROXY must name the proxies by their addresses (CREATE_GUARD=header)');
  const isKnown = (value: string) => CREATE_HEADER_VALUES?.has(value) ?? true;
  return byHeader(CREATE_HEADER, isKnown, trusted(TRUST_PROXY), CREATE_QUOTA_BYTES);
}

const byKey = (keys: Settings['CREATE_KEYS'], quotaBytes: number): CreationGuard => ({
  kind: 'key',
  needs: NEEDS_KEY,
  header: 'authorization',
  creatorOf({ headers }) {
    const key = KEY.exec(headers.authorization ?? '')?.[1];
    const hash = createHash('sha256')
      .update(key ?? '')
      .digest('hex');
    const known = key === undefined ? undefined : keys?.get(hash);
    return known && { name: `key:${hash}`, quotaBytes: known.bytes ?? quotaBytes };
  },
});

/** Sent twice it is nobody's word: one may be the client's. */
const byHeader = (
  header: string,
  isKnown: (value: string) => boolean,
  proxies: BlockList,
  quotaBytes: number,
): CreationGuard => ({
  kind: 'header',
  needs: NEEDS_KEY,
  header,
  creatorOf({ headersDistinct, socket }) {
    const [value = '', ...others] = headersDistinct[header] ?? [];
    if (value === '' || others.length > 0) return undefined;
    if (!isFrom(proxies, socket.remoteAddress) || !isKnown(value)) return undefined;
    return { name: `header:${value}`, quotaBytes };
  },
});

const bySignIn = (signIn: SignIn, quotaBytes: number): CreationGuard => ({
  kind: 'oidc',
  needs: 'Creating needs a sign-in',
  header: 'authorization',
  signIn,
  async creatorOf({ headers }, tokens) {
    const token = TOKEN.exec(headers.authorization ?? '')?.[1];
    const name = token && (await tokens.nameIn(token));
    return name ? { name: `oidc:${name}`, quotaBytes } : undefined;
  },
});

function signInOf(settings: Settings): SignIn {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLAIM, OIDC_CLAIM_VALUES, OIDC_SCOPE } = settings;
  const missing = (name: string) => new ConfigError(`${name} is missing (CREATE_GUARD=oidc)`);
  if (!OIDC_ISSUER) throw missing('OIDC_ISSUER');
  if (!OIDC_CLIENT_ID) throw missing('OIDC_CLIENT_ID');
  if (OIDC_CLAIM && !OIDC_CLAIM_VALUES) throw missing('OIDC_CLAIM_VALUES');
  if (OIDC_CLAIM_VALUES && !OIDC_CLAIM) throw missing('OIDC_CLAIM');
  if (!OIDC_SCOPE.split(' ').includes('openid')) throw new ConfigError('OIDC_SCOPE must hold openid');
  return { ...settings, OIDC_ISSUER, OIDC_CLIENT_ID };
}

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
