import type { DownloadLeases } from './answers.ts';
import type { RequestOptions } from './context.ts';
import type { Metadata } from './metadata.ts';
import type { OnProgress } from './payload.ts';
import type { GivenPassword } from './protection.ts';
import type { RetryOptions } from './retries.ts';

export type DownloadOptions = RequestOptions &
  GivenPassword &
  Pick<RetryOptions, 'patienceMs' | 'onTrouble'> & {
    /** Bytes of the decrypted payload. */
    onProgress?: OnProgress;
    /** As the service's config has it: a download of more than 256 KiB that breaks is then continued, and counts once. */
    downloadLeases?: DownloadLeases | undefined;
    /**
     * A lease that its caller keeps, to go on with the same download later, and ends with `endLease`: 43 characters, see newLease().
     * Whatever is asked for under it is one download. Without downloadLeases it means nothing.
     */
    lease?: string | undefined;
    /** Bytes of content that the caller already has: the stream begins there. Any number up to `size`. Needs lease and downloadLeases. */
    startBytes?: number | undefined;
    /** The lease was granted before and is only continued: `download-ended` where it has ended. True when startBytes is not 0. */
    isContinued?: boolean | undefined;
  };

export type Download = {
  metadata: Metadata;
  /** Bytes of the decrypted payload, from its beginning. */
  size: number;
  /** Fails with `tampered` or `network` before its end unless the whole payload is what the sender encrypted. */
  payload: ReadableStream<Uint8Array>;
};
