import type { Route } from './routes.ts';

/** Requests that a replica may have under way. */
const MOST_REQUESTS = 1_536;
/** Transfers may stay for hours: a third of the slots is never theirs. */
const TRANSFERS_SHARE = 2 / 3;

type Size = Pick<Route, 'payload'>;
export type Slots = {
  hasRoom(route: Size): boolean;
  /** Call what it returns once, when the request is over. */
  take(route: Size): () => void;
};

/**
 * Places for requests under way. Whoever finds none is refused at once: nothing waits for a place. Decision
 * refused-when-full.
 */
export function openSlots(most = MOST_REQUESTS): Slots {
  const mostTransfers = most * TRANSFERS_SHARE;
  let taken = 0;
  let transfers = 0;
  return {
    hasRoom: ({ payload }) => taken < most && (!payload || transfers < mostTransfers),
    take({ payload }) {
      const share = payload ? 1 : 0;
      taken += 1;
      transfers += share;
      return () => {
        taken -= 1;
        transfers -= share;
      };
    },
  };
}
