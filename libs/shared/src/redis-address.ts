import type { RedisOptions } from 'ioredis';

/** `redis+sentinel://[[user]:password@]host[:port][,host[:port]...]/name[/db]`; with `rediss` over TLS. */
const SENTINELS = /^(rediss?)\+sentinel:\/\/(?:([^:@/]*):([^@/]*)@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d+))?$/;
type SentinelOptions = Pick<
  RedisOptions,
  | 'sentinels'
  | 'name'
  | 'username'
  | 'password'
  | 'sentinelUsername'
  | 'sentinelPassword'
  | 'db'
  | 'failoverDetector'
  | 'tls'
> &
  Pick<RedisOptions, 'sentinelTLS' | 'enableTLSForSentinelMode'>;

const SENTINEL_PORT = 26379;

/**
 * How ioredis reaches what REDIS_URL names: one server, or the primary that Sentinels know by a name. The user and the password
 * are those of the servers and of the Sentinels. Undefined when it is neither.
 */
export function parseRedisAddress(address: string): { url: string } | SentinelOptions | undefined {
  const match = SENTINELS.exec(address);
  if (!match) return isServer(address) ? { url: address } : undefined;
  const [, scheme, user, password, hosts = '', name = '', db] = match;
  const sentinels = hosts.split(',').map(hostAndPort);
  if (!sentinels.every((one) => one !== undefined)) return undefined;
  const credentials = { username: decoded(user), password: decoded(password) };
  const tls = scheme === 'rediss' ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {};
  return {
    sentinels,
    name: decodeURIComponent(name),
    ...(credentials.username ? { username: credentials.username, sentinelUsername: credentials.username } : {}),
    ...(credentials.password ? { password: credentials.password, sentinelPassword: credentials.password } : {}),
    db: Number(db ?? 0),
    failoverDetector: true, // a Sentinel that sees a new primary is heard, however long the old one goes on answering
    ...tls,
  };
}

function isServer(address: string): boolean {
  return URL.canParse(address) && ['redis:', 'rediss:'].includes(new URL(address).protocol);
}

function hostAndPort(text: string): { host: string; port: number } | undefined {
  const url = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  if (!url || url.host.length === 0 || `${url.pathname}${url.search}` !== '/') return undefined;
  const port = /:(\d+)$/.exec(text)?.[1]; // the URL leaves out 80
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(port ?? SENTINEL_PORT) };
}

const decoded = (text = '') => decodeURIComponent(text);
