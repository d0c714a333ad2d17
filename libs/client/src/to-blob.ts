import type { Bytes } from './bytes.ts';
import type { StreamBody } from './streams.ts';

/** Large enough that a browser moves it out of the page's memory soon. */
const PART_BYTES = 8 * 1024 * 1024;

/** Everything that a stream holds, in parts that need not stay in memory. */
export async function toBlob({ stream }: StreamBody, signal?: AbortSignal): Promise<Blob> {
  const reader = stream.pipeThrough(new TransformStream(), signal ? { signal } : {}).getReader();
  const parts: Blob[] = [];
  let chunks: Bytes[] = [];
  let sizeBytes = 0;
  // Not `for await`: not every browser iterates over streams.
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return new Blob([...parts, ...chunks]);
    chunks.push(value as Bytes); // WebCrypto made it
    sizeBytes += value.length;
    if (sizeBytes < PART_BYTES) continue;
    parts.push(new Blob(chunks));
    chunks = [];
    sizeBytes = 0;
  }
}
