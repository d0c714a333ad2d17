import { type Config, ConfigError } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { blobSettings } from '@mayfly/shared/settings';
import type { BlobStore } from './blobs.ts';
import { openDiskBlobs } from './disk/blobs.ts';

/** The largest object that one PUT can carry (Amazon S3, and what speaks its protocol). */
const LARGEST_OBJECT_BYTES = 5 * 2 ** 30;

type BlobConfig = Config<typeof blobSettings> & { MAX_FILE_SIZE?: number };

/** The blob store that the settings name: S3 when there is an endpoint, else a folder. Throws ConfigError. */
export async function openBlobs(config: BlobConfig, logger: Logger): Promise<BlobStore & AsyncDisposable> {
  const { S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY, BLOB_DIR } = config;
  if (S3_ENDPOINT === undefined) {
    if (BLOB_DIR === undefined) {
      throw new ConfigError('Bad settings: BLOB_DIR or S3_ENDPOINT is missing (where the encrypted uploads are kept).');
    }
    return openDiskBlobs(BLOB_DIR);
  }
  if (S3_ACCESS_KEY === undefined || S3_SECRET_KEY === undefined) {
    throw new ConfigError('Bad settings: S3_ENDPOINT needs S3_ACCESS_KEY and S3_SECRET_KEY.');
  }
  if ((config.MAX_FILE_SIZE ?? 0) > LARGEST_OBJECT_BYTES) {
    throw new ConfigError('Bad settings: MAX_FILE_SIZE must be at most 5GiB, the largest object of one S3 request.');
  }
  // Its libraries take memory that a process with a folder spares.
  const { openS3Blobs } = await import('./s3/blobs.ts');
  return openS3Blobs({ ...config, S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY }, logger);
}
