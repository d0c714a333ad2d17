import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Redis } from '@mayfly/shared/redis';
import type { Breaker } from '../redis/breaker.ts';

type Known = { key: KeyObject; endsAt: number };

export type SharedKeys = {
  /** The key that is known under this name; whoever comes first makes it, for so many seconds. */
  get(name: string, expireSec: number): KeyObject | Promise<KeyObject>;
  /** Compares what is known with what Redis has. Rejects when Redis cannot say. */
  check(): Promise<void>;
  /** Changes whenever a key does. */
  version(): number;
};

/**
 * Random keys that all replicas share through Redis and that are written nowhere else. Redis is right: what it has lost
 * is lost, and a new key is made, on which all agree at their next check. Without Redis each process has its own.
 * Decision limits-kept-in-memory.
 */
export function sharedKeys(redis: Redis, breaker: Breaker): SharedKeys {
  const known = new Map<string, Known>();
  const asked = new Map<string, Promise<KeyObject>>();
  let version = 0;

  function learn(name: string, value: string, endsAt: number): KeyObject {
    const key = createSecretKey(value, 'base64');
    const before = known.get(name);
    if (before?.key.equals(key)) return before.key;
    known.set(name, { key, endsAt });
    version += 1;
    return key;
  }

  async function agree(name: string, endsAt: number): Promise<string> {
    const expireSec = Math.max(Math.ceil((endsAt - performance.now()) / 1000), 1);
    await redis.set(name, newKey(), 'EX', expireSec, 'NX');
    return (await redis.get(name)) ?? newKey();
  }

  async function ask(name: string, endsAt: number): Promise<KeyObject> {
    try {
      return learn(name, await breaker.run(() => agree(name, endsAt)), endsAt);
    } catch {
      return learn(name, newKey(), endsAt); // this process counts for itself until the next check
    } finally {
      asked.delete(name);
    }
  }

  return {
    get(name, expireSec) {
      const found = known.get(name);
      if (found) return found.key;
      const pending = asked.get(name) ?? ask(name, performance.now() + expireSec * 1000);
      asked.set(name, pending);
      return pending;
    },

    async check() {
      for (const [name, { endsAt }] of known) if (endsAt <= performance.now()) known.delete(name);
      const names = [...known.keys()];
      if (names.length === 0) return;
      const values = await Promise.all(names.map((name) => redis.get(name))); // on a cluster they are in many places
      for (const [index, name] of names.entries()) {
        const { endsAt = 0 } = known.get(name) ?? {};
        learn(name, values[index] ?? (await agree(name, endsAt)), endsAt);
      }
    },

    version: () => version,
  };
}

const newKey = () => randomBytes(32).toString('base64');

/** 132 bits of HMAC-SHA-256: enough to tell clients apart, nothing to find them by. */
export function pseudonym(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
}
