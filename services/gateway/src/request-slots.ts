import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Redis } from '@mayfly/shared/redis';
import { dateOf, daySecondsLeft } from './limits/keys/daily-names.ts';
import type { RequestLimits } from './limits/limits.ts';

/** A sender takes one when all is ready. */
const SLOT_MS = 600_000;
/** The clocks of two gateways may differ by so much. */
const CLOCKS_MS = 60_000;
/** Most that one process remembers; the first is forgotten for a new one, and then Redis alone remembers it. */
const MAX_SPENT = 10_000;
/** When it ends (milliseconds), 16 random bytes, and the signature of both. */
const SLOT = /^(\d{1,15})\.[\w-]{22}\.[\w-]{43}$/;

export type RequestSlots = {
  make(): Promise<{ slot: string; endsAt: Date }>;
  /** Whether it is a slot that has not ended, and is used for the first time. */
  spend(slot: string): Promise<boolean>;
};

/**
 * Permissions to create one upload each, signed with a key that all replicas share. Without Redis each process has its own key, and
 * knows only of its own slots whether they are spent. Decision keys-to-create.
 */
export function requestSlots(
  redis: Pick<Redis, 'set'>,
  sharedKey: RequestLimits['sharedKey'],
  now = Date.now,
): RequestSlots {
  const spent = new Set<string>();

  async function sign(endsAt: number, text: string): Promise<string> {
    const expireSec = SLOT_MS / 1000 + daySecondsLeft(endsAt);
    const key = await sharedKey(`mayfly:slot-key:${dateOf(endsAt)}`, expireSec);
    return createHmac('sha256', key).update(text).digest('base64url');
  }

  async function isSigned(slot: string, endsAt: number): Promise<boolean> {
    const length = slot.lastIndexOf('.');
    return timingSafeEqual(Buffer.from(slot.slice(length + 1)), Buffer.from(await sign(endsAt, slot.slice(0, length))));
  }

  return {
    async make() {
      const endsAt = now() + SLOT_MS;
      const text = `${endsAt}.${randomBytes(16).toString('base64url')}`;
      return { slot: `${text}.${await sign(endsAt, text)}`, endsAt: new Date(endsAt) };
    },

    async spend(slot) {
      const endsAt = Number(SLOT.exec(slot)?.[1] ?? 0);
      const leftMs = endsAt - now();
      if (leftMs <= 0 || leftMs > SLOT_MS + CLOCKS_MS) return false;
      if (!(await isSigned(slot, endsAt)) || spent.has(slot)) return false;
      if (spent.size >= MAX_SPENT) for (const first of spent.values().take(1)) spent.delete(first);
      spent.add(slot);
      const name = `mayfly:slot:${slot.slice(0, slot.lastIndexOf('.'))}`;
      try {
        return (await redis.set(name, '', 'PX', leftMs + CLOCKS_MS, 'NX')) === 'OK';
      } catch {
        return true; // its own log says that Redis is away
      }
    },
  };
}
