import type { Logger } from '@mayfly/shared/logger';

/** While a body is on its way in or out, the sweep stays away from its upload for this long after the last renewal. */
export const LEASE_SEC = 60;

/** Renews a lease until the returned function is called. */
export function keepLease(renew: () => Promise<void>, logger: Logger): () => void {
  const timer = setInterval(
    () => {
      // Best effort: the lease outlives two renewals that fail.
      renew().catch((err: unknown) => logger.warn({ err }, 'a lease was not renewed'));
    },
    (LEASE_SEC * 1000) / 3,
  );
  return () => clearInterval(timer);
}
