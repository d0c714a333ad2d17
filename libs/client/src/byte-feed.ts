import type { Bytes } from './bytes.ts';

/** Fills buffers that belong to whoever reads: nothing is allocated for what passes. */
export type ByteFeed = {
  /** What was filled of it, which is less than the whole only at the end. */
  fill(buffer: Bytes): Promise<Bytes>;
  cancel(reason?: unknown): Promise<void>;
};
