/** What a request allows: how many deliveries, how many bytes in all, for how long, and how long each of them stays. */
export type Terms = { maxDrops: number; maxBytes: number; expireSec: number; dropExpireSec: number };

const SIZES = [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];

/** Bytes that a page offers, the most that the service allows among them. */
export function sizeOptions(maxBytes: number): number[] {
  return [...SIZES.filter((size) => size < maxBytes), maxBytes];
}
