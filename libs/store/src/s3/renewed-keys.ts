import type { KeySource, TemporaryKeys } from './temporary-keys.ts';

/** Keys are renewed when a quarter of their life is left, but not earlier than this before their end. */
const RENEWED_BEFORE_MS = 15 * 60_000;
/** After a try that failed, while the old keys are still good. */
const AGAIN_AFTER_MS = 10_000;
/** A request that is signed now is there in this time, and the clocks differ by less. */
const LAST_USE_MS = 2_000;

/**
 * Keys for all clients of a store. They are renewed long before they end while the old ones go on being used, so that no request waits
 * but the first; rejects when there are none that are good.
 */
export function renewedKeys(source: KeySource): () => Promise<TemporaryKeys> {
  let held: TemporaryKeys | undefined;
  let renewAt = 0;
  let renewal: Promise<TemporaryKeys> | undefined;

  async function renew() {
    try {
      held = await source();
      const endsAt = held.expiresAt.getTime();
      renewAt = endsAt - Math.min(RENEWED_BEFORE_MS, (endsAt - Date.now()) / 4);
      return held;
    } catch (error) {
      renewAt = Date.now() + AGAIN_AFTER_MS;
      throw error;
    } finally {
      renewal = undefined;
    }
  }

  return async () => {
    const now = Date.now();
    const good = held && now < held.expiresAt.getTime() - LAST_USE_MS ? held : undefined;
    if (good && now < renewAt) return good;
    renewal ??= renew();
    if (!good) return renewal;
    renewal.catch(() => {}); // the old ones are good; when they are not any more, the next try says why
    return good;
  };
}
