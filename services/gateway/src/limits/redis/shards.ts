import { createHash } from 'node:crypto';
import type { Redis } from '@mayfly/shared/redis';

/** So many parts can be on so many nodes of a cluster; of a client six bits are told by its part. */
const SHARDS = 64;

/** The hash tag for what is kept about a client, or about an item; '' where Redis is one server. Decision limits-on-a-cluster. */
export type ShardOf = (text: string) => string;

export function shardsOf({ isCluster }: Pick<Redis, 'isCluster'>): ShardOf {
  if (!isCluster) return () => '';
  return (text) => `{${createHash('sha256').update(text).digest().readUInt8() % SHARDS}}`;
}

/** The hash tag in a key. */
export const shardIn = (key: string) => /\{\d+\}/.exec(key)?.[0] ?? '';
