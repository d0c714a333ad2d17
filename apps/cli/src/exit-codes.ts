import { type ErrorCode, MayflyError } from '@mayfly/client';

/** What the command line itself finds wrong. */
export type LocalCode = 'usage' | 'exists' | 'not-owner' | 'disk';

/** A failure that is told in one sentence. */
export class CliError extends Error {
  readonly code: LocalCode;

  constructor(code: LocalCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const UNEXPECTED = 1;
export const USAGE = 2;

/** What a script can rely on. Documented in the README, "Exit codes". */
const EXIT_CODES: Record<ErrorCode | LocalCode, number> = {
  usage: USAGE,
  'invalid-link': USAGE,
  'invalid-request': USAGE,
  'insecure-context': UNEXPECTED,
  'not-found': 3,
  expired: 4,
  'used-up': 5,
  'wrong-password': 6,
  'password-needed': 6,
  'rate-limited': 7,
  'too-large': 8,
  network: 9,
  unavailable: 9,
  unconfirmed: 9,
  tampered: 10,
  'not-finished': 11,
  exists: 12,
  'wrong-token': 13,
  'not-owner': 13,
  'bad-source': 14,
  disk: 15,
  'service-full': 16,
  aborted: 130,
};

export type Failure = { code: ErrorCode | LocalCode | 'unexpected'; message: string; retryAfterSec?: number };

/** Why a command ended, in words and for a script. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CliError) return { code: error.code, message: error.message };
  if (error instanceof MayflyError) {
    const { code, message, retryAfterSec } = error;
    return retryAfterSec === undefined ? { code, message } : { code, message, retryAfterSec };
  }
  // Errors of the system say which file, and why: EACCES: permission denied, open 'a.txt'.
  return { code: 'unexpected', message: error instanceof Error ? error.message : String(error) };
}

export function exitCode({ code }: Failure): number {
  return code === 'unexpected' ? UNEXPECTED : EXIT_CODES[code];
}
