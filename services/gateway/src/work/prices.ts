/** What one try costs both sides. Decision work-instead-of-a-wall. */
export const TRY = { memoryKiB: 8 * 1024, passes: 1 } as const;
/** Tries that the first solutions of a window take on average. */
const BASE_TRIES = 32;
/** So many solutions have one price; the next ones cost twice as much. */
const STEP = 4;
/** Most solutions that a client is sold in a window. */
export const MOST_BOUGHT = 24;

/** Tries on average for whoever has bought so much in this window. */
export const triesAt = (bought: number) => BASE_TRIES * 2 ** Math.floor(bought / STEP);

/**
 * Until how many were bought a challenge of this price is taken: one step later than it was made, so that clients behind one
 * address do not work in vain, and no more, so that nobody collects cheap challenges.
 */
export const takenUntil = (tries: number) => Math.min((Math.log2(tries / BASE_TRIES) + 2) * STEP, MOST_BOUGHT);
