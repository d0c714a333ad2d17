/** One row of the contract, tried on a server, or one vector, tried on a client. */
export type Case = {
  /** Where the contract (docs/contract.md) or the format (docs/crypto.md) says it: `3.6`, `7`, `keys`. */
  section: string;
  /** What has to be true, as a sentence. Unique. */
  name: string;
  /** Throws what is wrong, or Skipped. */
  run: () => Promise<void>;
};

/** The case cannot be tried here; the message says why. */
export class Skipped extends Error {}

export function skip(reason: string): never {
  throw new Skipped(reason);
}
