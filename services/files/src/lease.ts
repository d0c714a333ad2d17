import type { Logger } from '@mayfly/shared/logger';
import type { Uploads } from '@mayfly/store/uploads';

/** While a body is on its way in or out, the sweep stays away from its upload for this long after the last renewal. */
export const LEASE_SEC = 60;

/** Renews the lease until the returned function is called. */
export function keepLease(uploads: Uploads, id: string, logger: Logger): () => void {
  const timer = setInterval(
    () => {
      // Best effort: the lease outlives two renewals that fail.
      uploads.renewLease(id, LEASE_SEC).catch((err: unknown) => logger.warn({ err }, 'a lease was not renewed'));
    },
    (LEASE_SEC * 1000) / 3,
  );
  return () => clearInterval(timer);
}
