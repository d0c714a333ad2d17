import type { IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** So many bytes are read into buffers before those that nobody needs any more are collected. */
const COLLECTED_AFTER_BYTES = 8 * 1024 * 1024;

let readBytes = 0;
let collector: NodeJS.GCFunction | undefined;

/** V8's own, whatever the process was started with. */
export function garbageCollector(): NodeJS.GCFunction {
  if (!collector) {
    setFlagsFromString('--expose-gc');
    collector = runInNewContext('gc') as NodeJS.GCFunction;
  }
  return collector;
}

/**
 * Tells of bytes of a payload that were read into a new buffer. V8 sees some 200 bytes of each and lets 64 MB of them gather,
 * for which it then looks through the whole heap; looking at what is young does for them, and takes a millisecond. Decision
 * process-memory.
 */
export function countRead(bytes: number) {
  readBytes += bytes;
  if (readBytes < COLLECTED_AFTER_BYTES) return;
  readBytes = 0;
  garbageCollector()({ type: 'minor', execution: 'sync' });
}

/** The body of a request as it comes. Whoever stops reading leaves the connection open, so that an answer can be sent. */
export async function* bodyOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    countRead(chunk.length);
    yield chunk;
  }
}
