import { type ErrorCode, MayflyError } from '@mayfly/client';

/** What the command line itself finds wrong. */
export type LocalCode = 'usage' | 'exists' | 'not-owner' | 'disk' | 'different';

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
export const STOPPED = 130;

/** What a script can rely on. Documented in the README, "Exit codes". */
const EXIT_CODES: Record<ErrorCode | LocalCode, number> = {
  usage: USAGE,
  'invalid-link': USAGE,
  'damaged-link': USAGE,
  'invalid-request': USAGE,
  'insecure-context': UNEXPECTED,
  'not-found': 3,
  expired: 4,
  'used-up': 5,
  'wrong-password': 6,
  'password-needed': 6,
  'weak-password-algo': 6,
  'rate-limited': 7,
  'too-large': 8,
  'too-many-files': 8,
  network: 9,
  unavailable: 9,
  unconfirmed: 9,
  tampered: 10,
  'key-or-tampered': 10,
  'not-finished': 11,
  exists: 12,
  'wrong-token': 13,
  'not-owner': 13,
  'bad-source': 14,
  disk: 15,
  'service-full': 16,
  'newer-format': 17,
  'upload-ended': 18,
  'download-ended': 19,
  'bad-answer': 20,
  different: 21,
  aborted: STOPPED,
};

export type Failure = { code: ErrorCode | LocalCode | 'unexpected'; message: string; retryAfterSec?: number };

/** Why a command ended, in words and for a script. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CliError) return { code: error.code, message: error.message };
  if (error instanceof MayflyError) {
    const { code, retryAfterSec } = error;
    const message =
      code === 'weak-password-algo' ? `${error.message}; --allow-pbkdf2 uses it all the same` : error.message;
    return retryAfterSec === undefined ? { code, message } : { code, message, retryAfterSec };
  }
  // Errors of the system say which file, and why: EACCES: permission denied, open 'a.txt'.
  return { code: 'unexpected', message: error instanceof Error ? error.message : String(error) };
}

export function exitCode({ code }: Failure): number {
  return code === 'unexpected' ? UNEXPECTED : EXIT_CODES[code];
}
