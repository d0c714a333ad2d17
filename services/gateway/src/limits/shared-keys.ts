import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Redis } from '@mayfly/shared/redis';
import type { Breaker } from './breaker.ts';

/**
 * Random keys that all replicas share through Redis and that are written nowhere else. Whoever comes first makes one;
 * after Redis was away (it may have lost it) the replicas offer theirs again and agree anew.
 */
export function sharedKeys(redis: Redis, breaker: Breaker) {
  const known = new Map<string, KeyObject>();
  const agreed = new Map<string, Promise<KeyObject>>();
  redis.on('ready', () => agreed.clear());

  async function agree(name: string, expireSec: number | undefined): Promise<KeyObject> {
    const mine = known.get(name) ?? createSecretKey(randomBytes(32));
    known.set(name, mine);
    try {
      const text = await breaker.run(async () => {
        const value = mine.export().toString('base64');
        if (expireSec) await redis.set(name, value, 'EX', expireSec, 'NX');
        else await redis.set(name, value, 'NX');
        return redis.get(name);
      });
      const key = text ? createSecretKey(text, 'base64') : mine;
      known.set(name, key);
      return key;
    } catch {
      agreed.delete(name); // asked again when Redis is back; until then this process counts for itself
      return mine;
    }
  }

  return {
    get(name: string, expireSec?: number): Promise<KeyObject> {
      let key = agreed.get(name);
      if (!key) {
        key = agree(name, expireSec);
        agreed.set(name, key);
      }
      return key;
    },
    /** Forgets what is not needed any more: a day's key ends with its day. */
    forget(name: string) {
      known.delete(name);
      agreed.delete(name);
    },
  };
}

/** 132 bits of HMAC-SHA-256: enough to tell clients apart, nothing to find them by. */
export function pseudonym(key: KeyObject, ...parts: string[]): string {
  return createHmac('sha256', key).update(parts.join('\n')).digest('base64url').slice(0, 22);
}
