/** Why something failed, for programs. The sentence of each is in MESSAGES. */
export type ErrorCode = keyof typeof MESSAGES;

const MESSAGES = {
  'not-found': 'There is nothing at this link',
  expired: 'It has expired',
  'used-up': 'It has been used as often as its owner allowed',
  'wrong-password': 'The password is wrong',
  'password-needed': 'It is protected by a password',
  'wrong-token': 'The link or the owner secret does not belong to it',
  'rate-limited': 'Too many requests from this address',
  'too-large': 'It is larger than the service accepts',
  'invalid-request': 'The service does not accept this request',
  'invalid-link': 'This is not a link of a file or a note',
  unavailable: 'The service is not available at the moment',
  'service-full': 'The service has no room for it at the moment',
  network: 'The service cannot be reached',
  unconfirmed: 'The answer did not arrive: the view may or may not have been used',
  tampered: 'It was changed or cut short on its way, or belongs to another link',
  'not-finished': 'Its sender has not finished the upload',
  'bad-source': 'A file changed or could not be read while it was sent',
  'insecure-context': 'Encryption needs a page that was loaded over HTTPS',
  aborted: 'Stopped',
} as const;

type Facts = {
  message?: string;
  cause?: unknown;
  /** HTTP status of the answer that said so. */
  status?: number | undefined;
  /** Seconds after which a rate-limited or unavailable service asks to be tried again. */
  retryAfterSec?: number | undefined;
  /** Seconds for which an unconfirmed view can be repeated under its key; undefined when the service could not be asked. */
  repeatForSec?: number | undefined;
};

/** Everything that this library throws on purpose. */
export class MayflyError extends Error {
  override name = 'MayflyError';
  readonly code: ErrorCode;
  readonly status: number | undefined;
  readonly retryAfterSec: number | undefined;
  readonly repeatForSec: number | undefined;

  constructor(code: ErrorCode, { message = MESSAGES[code], cause, status, retryAfterSec, repeatForSec }: Facts = {}) {
    super(message, { cause });
    this.code = code;
    this.status = status;
    this.retryAfterSec = retryAfterSec;
    this.repeatForSec = repeatForSec;
  }
}

/** What a caller's abort or a broken connection looks like to the caller. Keeps a MayflyError as it is. */
export function asMayflyError(error: unknown, signal?: AbortSignal): MayflyError {
  if (error instanceof MayflyError) return error;
  return new MayflyError(signal?.aborted ? 'aborted' : 'network', { cause: error });
}
