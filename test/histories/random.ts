/** Numbers that are the same for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(all: readonly T[]): T {
    const [first] = all;
    if (first === undefined) throw new Error('there is nothing to pick from');
    return all[this.between(0, all.length - 1)] ?? first;
  }

  bytes(count: number): Buffer<ArrayBuffer> {
    const bytes = Buffer.alloc(count);
    for (let at = 0; at < count; at += 1) bytes[at] = this.next() * 256;
    return bytes;
  }

  /** 32 bytes, as tokens and leases are. */
  token(): string {
    return this.bytes(32).toString('base64url');
  }
}
