import type { DestinationStream } from 'pino';
import sonicBoom from 'sonic-boom';

/** What may wait for a reader that stands still; lines beyond it are lost. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;
/** At the end a reader that stands still gets so many more chances, a tenth of a second apart. */
const LAST_CHANCES = 10;

/**
 * Standard output for log lines, which are written beside the work. Whoever reads them can stand still, or be gone, without
 * harm: the process goes on with a bounded number of lines in memory, and ends when it should. (The stream that pino makes by
 * itself keeps all that wait, and at the end tries for ever to hand its last lines to a reader that is gone.)
 */
export function standardOutput(): DestinationStream {
  let chances = Number.POSITIVE_INFINITY;
  const output = new sonicBoom.SonicBoom({ fd: 1, maxLength: MOST_WAITING_BYTES, retryEAGAIN: () => chances-- > 0 });
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    // What is on a full disk may go on later; a reader that is gone does not come back. Nobody else is there to tell.
    if (code === 'EPIPE') output.write = () => true;
  });
  process.on('exit', () => {
    chances = LAST_CHANCES;
    try {
      output.flushSync();
    } catch {
      // nobody reads it
    }
  });
  return output;
}
