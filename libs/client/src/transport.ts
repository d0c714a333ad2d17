import type { Bytes } from './bytes.ts';
import type { Encryption } from './encryption.ts';
import type { StreamBody } from './streams.ts';

export type TransportRequest = {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  /** JSON text, bytes, or a stream. */
  body?: string | Bytes | StreamBody;
  /** Called with the bytes of a body sent so far, unless it is JSON. */
  onSent?: (sentBytes: number) => void;
  signal?: AbortSignal | undefined;
};

export type TransportAnswer = {
  status: number;
  header(name: string): string | undefined;
  /** Fails when the connection ends before Content-Length bytes have come. */
  body: ReadableStream<Uint8Array>;
};

/** How requests reach the service. Any answer is an answer; only a connection that fails throws. */
export interface Transport {
  /** The most parts of an upload under way at once: as many as have a connection of their own. 4 by default. */
  maxParallel?: number;
  /** What it brings for encrypting what it carries. */
  encryption?: Encryption;
  send(request: TransportRequest): Promise<TransportAnswer>;
}
