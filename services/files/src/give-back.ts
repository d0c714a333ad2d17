/**
 * Tells the gateway that a session is over, and how many of the bytes that were charged at its beginning are not stored. It is sent
 * once for a session, by whoever ended it. The gateway removes it. Decision uploads-in-parts.
 */
export const GIVE_BACK = 'x-mayfly-give-back';
