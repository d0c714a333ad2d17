import type { UploadParts } from './answers.ts';
import type { Created, RequestOptions } from './context.ts';
import type { OnProgress } from './payload.ts';
import type { PasswordOptions } from './protection.ts';
import type { RetryOptions } from './retries.ts';
import type { UnfinishedUpload } from './unfinished.ts';

/** How parts are sent. */
export type PartOptions = RequestOptions &
  Pick<RetryOptions, 'patienceMs' | 'onTrouble'> & {
    /** Bytes of the encrypted payload that are sent, in parts those that are stored; infinitely many where nobody knows. */
    onProgress?: OnProgress;
    /** The most parts under way at once: two at first, and more while that makes it faster. By default the transport's: 4, in Node 8. */
    maxParallel?: number | undefined;
  };

export type UploadOptions = PartOptions &
  PasswordOptions & {
    /** One of the service's `expireOptionsSec`. */
    expireSec: number;
    /** One of the service's `downloadOptions`. */
    maxDownloads: number;
    /** As the service's config has it: the metadata of an upload with a password is then sealed. */
    sealedMetadata?: boolean | undefined;
    /** As the service's config has it: an archive of more files is counted as one file. The metadata names them all. */
    maxFilesPerUpload?: number | undefined;
    /** As the service's config has it: what is larger than one part is then sent in parts. */
    uploadParts?: UploadParts | undefined;
    /** Whether it is sent in parts, whatever its size. */
    inParts?: boolean | undefined;
    /** Keeps what it takes to resume an upload in parts, before any is sent. Without it, what fails is cancelled. */
    onUnfinished?: ((unfinished: UnfinishedUpload) => void | Promise<void>) | undefined;
    /**
     * Told the link before anything is sent, so that it can be given away early: whoever has it can follow the upload with
     * `getArrival`. Only for what is sent in parts; what is sent in one piece has no link before its end, and nothing is told.
     */
    onAnnounced?: ((created: Created) => void | Promise<void>) | undefined;
  };
