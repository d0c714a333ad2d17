import type { Config } from './config.ts';
import type { uploadSettings } from './settings.ts';

/** Below the 100 MB at which proxies in front begin to refuse bodies. */
const PART_BYTES_MAX = 99_000_000;

/** Lengths in bytes. `maxFileSize`: of a whole upload that comes in parts. */
export type PartLimits = {
  minBytes: number;
  maxBytes: number;
  maxParts: number;
  maxFileSize: number;
  sessionSec: number;
};

/** Undefined when uploads do not come in parts. Contract 10; decision uploads-in-parts. */
export function partLimits(limits: Config<typeof uploadSettings>): PartLimits | undefined {
  const { UPLOAD_SESSION_SEC: sessionSec, UPLOAD_PARTS_MAX: maxParts, UPLOAD_PART_BYTES_MIN: minBytes } = limits;
  if (sessionSec === 0) return undefined;
  const most = limits.MAX_PARTED_SIZE ?? limits.MAX_FILE_SIZE;
  const maxBytes = Math.max(PART_BYTES_MAX, minBytes);
  return { minBytes, maxBytes, maxParts, maxFileSize: Math.min(most, maxParts * maxBytes), sessionSec };
}
