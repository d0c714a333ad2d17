import type { OnProgress } from '@mayfly/client';
import { formatBytes, formatShare, formatShortTime } from './amounts.ts';

const REDRAW_MS = 100;
/** The whole line fits a terminal of 80 columns. */
const BAR_WIDTH = 12;
/** Speed is that of the last seconds: a pause shows, and the time left does not jump. */
const WINDOW_MS = 3_000;

export type Progress = Disposable & {
  onProgress: OnProgress;
  /** Wipes the line, so that a message can take its place; it is drawn again when there is progress. */
  wipe(): void;
};

/** One line that is drawn again and again; nothing at all when the output is not a terminal. */
export function showProgress(
  output: NodeJS.WriteStream,
  what: string,
  now = () => performance.now(),
  windowMs = WINDOW_MS,
): Progress {
  if (!output.isTTY) return { onProgress: () => {}, wipe: () => {}, [Symbol.dispose]: () => {} };
  const times: { at: number; bytes: number }[] = [];
  let drawnAt = Number.NEGATIVE_INFINITY;
  const wipe = () => {
    if (times.length > 0) output.write('\r\u001b[2K');
  };
  return {
    wipe,
    onProgress(doneBytes, totalBytes) {
      const at = now();
      if (at - drawnAt < REDRAW_MS && doneBytes < totalBytes) return;
      drawnAt = at;
      times.push({ at, bytes: doneBytes });
      while (times.length > 2 && at - (times[0]?.at ?? at) > windowMs) times.shift();
      output.write(
        `\r\u001b[2K${progressLine(what, doneBytes, totalBytes, speedOf(times)).slice(0, (output.columns || 80) - 1)}`,
      );
    },
    [Symbol.dispose]: wipe,
  };
}

function speedOf(times: { at: number; bytes: number }[]): number | undefined {
  const [first, last] = [times[0], times.at(-1)];
  if (!first || !last || last.at === first.at) return undefined;
  return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
}

/** `Sending  [######------]  50 %  1.0 MB of 2.0 MB  500.0 kB/s  2 s left`; without a total, what has passed. */
export function progressLine(what: string, doneBytes: number, totalBytes: number, bytesPerSec?: number): string {
  const speed = bytesPerSec ? `  ${formatBytes(bytesPerSec)}/s` : '';
  if (!Number.isFinite(totalBytes)) return `${what}  ${formatBytes(doneBytes)}${speed}`;
  const share = totalBytes === 0 ? 1 : doneBytes / totalBytes;
  const filled = Math.floor(share * BAR_WIDTH);
  const bar = `${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}`;
  const left = bytesPerSec ? `  ${formatShortTime(((totalBytes - doneBytes) / bytesPerSec) * 1000)} left` : '';
  return `${what}  [${bar}] ${formatShare(doneBytes, totalBytes).padStart(5)}  ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}${speed}${left}`;
}
