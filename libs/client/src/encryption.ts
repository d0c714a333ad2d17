import type { Bytes } from './bytes.ts';
import type { Layout } from './layout.ts';
import type { PlainPart } from './parts.ts';
import type { Payload } from './payload.ts';
import type { DeriveSegmentKey, SegmentKey } from './segment-key.ts';
import type { Source } from './source.ts';
import type { StreamBody } from './streams.ts';

/** A part as it is sent. */
export type PartBody = {
  number: number;
  sizeBytes: number;
  /** For one try. */
  body(): Bytes | StreamBody;
  /** When the part is stored: what it took can be used for another one. */
  done(): void;
};

/** What a platform has for encrypting that is quicker, or takes less memory, than what they all have. */
export type Encryption = {
  derive: DeriveSegmentKey;
  /** The same content, for a reader that has copied a chunk when it asks for the next one. */
  releasing(content: ReadableStream<Uint8Array>): ReadableStream<Uint8Array>;
  /** Format 1, encrypted while it is sent. */
  seal(key: SegmentKey, payload: Pick<Payload, 'stream' | 'only'>): ReadableStream<Uint8Array>;
  /** Whether parts of it can be read while they are sent, so that long ones take no more memory. */
  reads(source: Source): boolean;
  /** Makes bodies of parts that are encrypted while they are sent, and anew for every try. */
  streamParts(key: CryptoKey, segmentsPerPart: number): (part: PlainPart) => PartBody;
  /** The same for parts that are read while they are sent; undefined where a payload can only be read from its beginning. */
  streamFrom(payload: Payload, key: CryptoKey, layout: Layout): ((number: number) => PartBody) | undefined;
};
