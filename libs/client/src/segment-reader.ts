import type { Bytes } from './bytes.ts';
import type { Context } from './context.ts';
import { MayflyError } from './errors.ts';
import { readHeader } from './kept-download.ts';
import type { LeasedOptions } from './leased-payload.ts';
import type { Link } from './link.ts';
import type { OpenedLease } from './open-lease.ts';
import { openPayload } from './open-payload.ts';
import { SEGMENT_BYTES } from './size.ts';
import { withReason } from './upload-info.ts';

/** Of 64 KiB: those read lately, so that neighbours and what is read twice do not travel twice. */
const KEPT_SEGMENTS = 64;
/** Requests at once: below the eight of a lease, of which some may have broken off unnoticed. */
const AT_ONCE = 6;

type Coming = { promise: Promise<Bytes>; join: (reader: AbortSignal) => void };

/** Decrypted segments of a payload, whichever are asked for. */
export class SegmentReader {
  readonly #context: Context;
  readonly #link: Link;
  readonly #opened: OpenedLease;
  readonly #options: LeasedOptions;
  readonly #kept = new Map<number, Bytes>();
  /** Asked for, and not here yet. */
  readonly #coming = new Map<number, Coming>();
  /** Of parts in whose middle was read. */
  readonly #headers = new Map<number, Bytes>();
  readonly #waiting: (() => void)[] = [];
  #atOnce = 0;

  constructor(context: Context, link: Link, opened: OpenedLease, options: LeasedOptions) {
    this.#context = context;
    this.#link = link;
    this.#opened = opened;
    this.#options = options;
  }

  /**
   * One segment that is here or on its way, or at most so many that are neither, in one request. Each fails by itself, with what broke the
   * request. That ends when the signals of all who wait for it do.
   */
  ask(first: number, limit: number, signal: AbortSignal): Promise<Bytes>[] {
    const kept = this.#kept.get(first);
    if (kept) {
      this.#keep(first, kept);
      return [Promise.resolve(kept)];
    }
    const coming = this.#coming.get(first);
    if (coming) {
      coming.join(signal);
      return [coming.promise];
    }
    let count = 1;
    while (count < limit && !this.#kept.has(first + count) && !this.#coming.has(first + count)) count += 1;
    return this.#begin(first, count, signal);
  }

  #begin(first: number, count: number, signal: AbortSignal): Promise<Bytes>[] {
    const stopped = new AbortController();
    const readers = new Set<AbortSignal>();
    const join = (reader: AbortSignal) => {
      if (readers.has(reader)) return;
      readers.add(reader);
      reader.addEventListener('abort', () => {
        readers.delete(reader);
        if (readers.size > 0) return;
        stopped.abort();
        forget();
      });
    };
    const segments = Array.from({ length: count }, () => ({ ...Promise.withResolvers<Bytes>(), join }));
    /** Whoever asks from now on begins anew. */
    const forget = () => {
      for (const [index, segment] of segments.entries()) {
        if (this.#coming.get(first + index) === segment) this.#coming.delete(first + index);
      }
    };
    for (const [index, segment] of segments.entries()) {
      this.#coming.set(first + index, segment);
      segment.promise.catch(() => {}); // whoever waits for it is told
    }
    join(signal);
    const arrived = (index: number, segment: Bytes) => {
      this.#keep(first + index, segment);
      this.#coming.delete(first + index);
      segments[index]?.resolve(segment);
    };
    this.#fetch(first, count, stopped.signal, arrived).catch((error) => {
      forget();
      for (const { reject } of segments) reject(error);
    });
    return segments.map(({ promise }) => promise);
  }

  async #fetch(first: number, count: number, signal: AbortSignal, arrived: (index: number, segment: Bytes) => void) {
    const { keys, size, payload, places } = this.#opened;
    const isCut = first + count < places.segments;
    await this.#turn();
    try {
      const begin = { ...places.inPart(first), header: await this.#header(first, signal), isCut };
      const open = payload.read(places.of(first, first + count - 1), { ...this.#options, signal });
      const ciphertext = await withReason(this.#context, this.#link, signal, open);
      const reader = openPayload(keys, ciphertext, begin).getReader();
      for (let index = 0; index < count; index += 1) {
        const { value } = await reader.read();
        if (!value || !isPadded(value, size - (first + index) * SEGMENT_BYTES)) throw new MayflyError('tampered');
        arrived(index, value);
      }
      if (!(await reader.read()).done) throw new MayflyError('tampered');
    } finally {
      this.#atOnce -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Waits while too many requests are under way. */
  async #turn() {
    while (this.#atOnce >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#atOnce += 1;
  }

  /** Of the segment's part; once for each of them. */
  async #header(segment: number, signal: AbortSignal): Promise<Bytes | undefined> {
    const { payload, places } = this.#opened;
    const { firstPart, firstSegment } = places.inPart(segment);
    const known = firstSegment === 0 ? undefined : this.#headers.get(firstPart);
    const header = known ?? (await readHeader(payload, places, segment, { ...this.#options, signal }));
    if (header) this.#headers.set(firstPart, header);
    return header;
  }

  #keep(number: number, segment: Bytes) {
    this.#kept.delete(number);
    this.#kept.set(number, segment);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_SEGMENTS) return;
      this.#kept.delete(oldest);
    }
  }
}

/** Whether there is nothing but zeros behind the content. */
function isPadded(segment: Bytes, contentBytes: number): boolean {
  return segment.subarray(Math.max(0, contentBytes)).every((byte) => byte === 0);
}
