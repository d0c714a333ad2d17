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

/** `redis+cluster://[[user]:password@]host[:port][,host[:port]...]`; with `rediss` over TLS. */
const CLUSTER = /^(rediss?)\+cluster:\/\/(?:([^:@/]*):([^@/]*)@)?([^@/?#]+)\/?$/;
type ClusterAddress = {
  /** Those that are asked for all others. */
  nodes: { host: string; port: number }[];
  redisOptions: Pick<RedisOptions, 'username' | 'password' | 'tls'>;
};

const SENTINEL_PORT = 26379;
const PORT = 6379;

/**
 * How ioredis reaches what REDIS_URL names: one server, the primary that Sentinels know by a name, or a cluster. The user and the
 * password are those of all servers, and of the Sentinels. Undefined when it is none of these.
 */
export function parseRedisAddress(address: string): { url: string } | SentinelOptions | ClusterAddress | undefined {
  if (isServer(address)) return { url: address };
  return parseSentinels(address) ?? parseCluster(address);
}

function parseSentinels(address: string): SentinelOptions | undefined {
  const match = SENTINELS.exec(address);
  if (!match) return undefined;
  const [, scheme, user, password, hosts = '', name = '', db] = match;
  const sentinels = hosts.split(',').map((host) => hostAndPort(host, SENTINEL_PORT));
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

function parseCluster(address: string): ClusterAddress | undefined {
  const [, scheme, user, password, hosts = ''] = CLUSTER.exec(address) ?? [];
  const nodes = hosts.split(',').map((host) => hostAndPort(host, PORT));
  if (!nodes.every((one) => one !== undefined)) return undefined;
  const redisOptions = {
    ...(user ? { username: decoded(user) } : {}),
    ...(password ? { password: decoded(password) } : {}),
    ...(scheme === 'rediss' ? { tls: {} } : {}),
  };
  return { nodes, redisOptions };
}

function isServer(address: string): boolean {
  return URL.canParse(address) && ['redis:', 'rediss:'].includes(new URL(address).protocol);
}

function hostAndPort(text: string, usualPort: number): { host: string; port: number } | undefined {
  const url = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  if (!url || url.host.length === 0 || `${url.pathname}${url.search}` !== '/') return undefined;
  const port = /:(\d+)$/.exec(text)?.[1]; // the URL leaves out 80
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(port ?? usualPort) };
}

const decoded = (text = '') => decodeURIComponent(text);
