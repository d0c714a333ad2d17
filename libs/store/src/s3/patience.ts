/** How long the store may be silent. Tests set these; everybody else has the defaults. */
export type S3Patience = {
  /** For a small request, for the head of a payload, and for the answer to one of a few bytes. */
  answerMs: number;
  /** While a payload flows: without giving a byte, or without taking one when it was given much. */
  stallMs: number;
  /** While the store puts parts together; unless set, COMPLETE_MS. */
  completeMs?: number;
};

export const COMPLETE_MS = 300_000;

export const PATIENCE: S3Patience = { answerMs: 10_000, stallMs: 30_000 };
