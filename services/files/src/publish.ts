import { setTimeout as sleep } from 'node:timers/promises';
import { serviceUnavailable, Unavailable } from '@mayfly/shared/errors';
import type { Uploads } from '@mayfly/store/uploads';
import { LEASE_SEC } from './lease.ts';

/** The lease was renewed at most a third of it ago, so that this is what is left of it when PostgreSQL goes away. */
const PATIENCE_MS = (LEASE_SEC * 1000 * 2) / 3;
const PAUSE_MS = 500;

/**
 * Makes an upload that is stored whole available. While the table is away it is tried again: whoever has sent gigabytes
 * must not send them twice for a short outage. Ends when the sender does, or before the lease may be over. Decision
 * patient-publish.
 */
export async function publish(uploads: Uploads, id: string, senderGone: AbortSignal): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      if (await uploads.publish(id)) return;
      throw serviceUnavailable(new Error('the upload was reaped on its way'));
    } catch (error) {
      const isWorthAnother = error instanceof Unavailable && !senderGone.aborted && performance.now() < until;
      if (!isWorthAnother) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
