/** Why something failed, for programs. */
export type ErrorCode = keyof typeof MESSAGES;

const MESSAGES = {
  'not-found': 'There is nothing at this link',
  expired: 'It has expired',
  'used-up': 'It has been used as often as its owner allowed',
  'wrong-password': 'The password is wrong',
  'password-needed': 'It is protected by a password',
  'weak-password-algo':
    'Its password is protected by PBKDF2, with which the service, and whoever else has the link, can guess it far faster than usual',
  'wrong-token': 'The key in the link, or the owner secret, does not fit',
  'rate-limited': 'Too many requests from this address',
  'too-large': 'It is larger than the service accepts',
  'too-many-files': 'There are too many files for one upload',
  'invalid-request': 'The service does not accept this request',
  'invalid-link': 'This is not a link to a file or a note',
  'damaged-link': 'This link is incomplete or was changed',
  unavailable: 'The service is not available at the moment',
  'service-full': 'The service has no room for it at the moment',
  network: 'The service cannot be reached',
  'bad-answer': "The service's answer is not one that Mayfly gives",
  unconfirmed: 'The answer did not arrive: the view may or may not have been used',
  tampered: 'It was changed or cut short on its way, or belongs to another link',
  'key-or-tampered': "The link's key does not fit, or the upload was changed",
  'newer-format': 'It was sent by a newer Mayfly than this one',
  'not-finished': 'Its sender has not finished the upload',
  'upload-ended': 'The time to finish this upload is over, or it was stopped',
  'download-ended': 'This download cannot be continued: its time is over, or it was ended',
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
