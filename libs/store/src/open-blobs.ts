import { type Config, ConfigError } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { blobSettings, storageSettings } from '@mayfly/shared/settings';
import { openDiskBlobs } from './disk/blobs.ts';
import { defaultMinFree, diskBytes } from './disk/room.ts';
import type { StoreRecord } from './marker.ts';
import { observedBlobs } from './observed.ts';
import { type PairedBlobs, pairedBlobs } from './paired-blobs.ts';

/** The largest object that one PUT can carry (Amazon S3, and what speaks its protocol). */
const LARGEST_OBJECT_BYTES = 5 * 2 ** 30;

type StorageConfig = Partial<Config<typeof storageSettings>>;
type BlobConfig = Config<typeof blobSettings> & StorageConfig & { MAX_FILE_SIZE?: number };

/**
 * The blob store that the settings name, paired with the database of the record: S3 when there is an endpoint, else a folder.
 * Throws ConfigError.
 */
export async function openBlobs(
  config: BlobConfig,
  record: StoreRecord,
  logger: Logger,
): Promise<PairedBlobs & AsyncDisposable> {
  const { S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY, BLOB_DIR } = config;
  if (S3_ENDPOINT === undefined) {
    if (BLOB_DIR === undefined) {
      throw new ConfigError('Bad settings: BLOB_DIR or S3_ENDPOINT is missing (where the encrypted uploads are kept).');
    }
    const place = openDiskBlobs(BLOB_DIR, { minFreeBytes: config.STORAGE_MIN_FREE_BYTES });
    return observedBlobs(await pairedBlobs(place, record, logger), 'disk');
  }
  if (S3_ACCESS_KEY === undefined || S3_SECRET_KEY === undefined) {
    throw new ConfigError('Bad settings: S3_ENDPOINT needs S3_ACCESS_KEY and S3_SECRET_KEY.');
  }
  if ((config.MAX_FILE_SIZE ?? 0) > LARGEST_OBJECT_BYTES) {
    throw new ConfigError('Bad settings: MAX_FILE_SIZE must be at most 5GiB, the largest object of one S3 request.');
  }
  // Its library takes 13 MB of memory, which a folder does not need.
  const { openS3Blobs } = await import('./s3/blobs.ts');
  const place = openS3Blobs({ ...config, S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY });
  return observedBlobs(await pairedBlobs(place, record, logger), 's3');
}

/**
 * The most that all uploads may hold together; undefined when there is no ceiling. Without a setting it is what the disk has
 * above what stays free, so that replicas that share one cannot pass that together. Decision 76.
 */
export async function uploadCeiling(config: BlobConfig): Promise<{ maxBytes: number | undefined }> {
  const { STORAGE_MAX_BYTES, STORAGE_MIN_FREE_BYTES, S3_ENDPOINT, BLOB_DIR } = config;
  if (STORAGE_MAX_BYTES !== undefined) return { maxBytes: STORAGE_MAX_BYTES || undefined };
  if (S3_ENDPOINT !== undefined || BLOB_DIR === undefined) return { maxBytes: undefined };
  const disk = await diskBytes(BLOB_DIR).catch(() => undefined); // not there: nothing is taken either, until it is
  if (!disk) return { maxBytes: undefined };
  const { size } = disk;
  return { maxBytes: Math.max(size - (STORAGE_MIN_FREE_BYTES ?? defaultMinFree(size)), 0) };
}
