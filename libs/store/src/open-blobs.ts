import { type Config, ConfigError } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { s3IdentitySettings } from '@mayfly/shared/s3-identity-settings';
import type { blobSettings, storageSettings } from '@mayfly/shared/settings';
import { openDiskBlobs } from './disk/blobs.ts';
import { defaultMinFree, diskBytes } from './disk/room.ts';
import type { StoreRecord } from './marker.ts';
import { observedBlobs } from './observed.ts';
import { type PairedBlobs, pairedBlobs } from './paired-blobs.ts';
import { renewedKeys } from './s3/renewed-keys.ts';
import { keySource } from './s3/temporary-keys.ts';

/** The largest object that one PUT can carry (Amazon S3, and what speaks its protocol). */
const LARGEST_OBJECT_BYTES = 5 * 2 ** 30;
const LEAST_PART_BYTES = 5 * 2 ** 20;

type StorageConfig = Partial<Config<typeof storageSettings>>;
type BlobConfig = Config<Omit<typeof blobSettings, keyof typeof s3IdentitySettings>> &
  Partial<Config<typeof s3IdentitySettings>> &
  StorageConfig & { MAX_FILE_SIZE?: number; UPLOAD_PART_BYTES_MIN?: number; UPLOAD_SESSION_SEC?: number };

/** How each kind of blob store is opened; its name is what it is measured under. All throw ConfigError. */
const PLACES = {
  async disk({ BLOB_DIR, STORAGE_MIN_FREE_BYTES }: BlobConfig) {
    if (BLOB_DIR === undefined) {
      throw new ConfigError('Bad settings: BLOB_DIR or S3_ENDPOINT is missing (where the encrypted uploads are kept).');
    }
    return openDiskBlobs(BLOB_DIR, { minFreeBytes: STORAGE_MIN_FREE_BYTES });
  },

  async s3(config: BlobConfig) {
    const { S3_ENDPOINT = '', MAX_FILE_SIZE = 0 } = config;
    const { UPLOAD_SESSION_SEC = 0, UPLOAD_PART_BYTES_MIN = 0 } = config;
    const source = keySource(config);
    if (!source && (config.S3_ACCESS_KEY === undefined || config.S3_SECRET_KEY === undefined)) {
      throw new ConfigError('Bad settings: S3_ENDPOINT needs S3_ACCESS_KEY and S3_SECRET_KEY, or S3_KEYS.');
    }
    if (MAX_FILE_SIZE > LARGEST_OBJECT_BYTES) {
      throw new ConfigError('Bad settings: MAX_FILE_SIZE must be at most 5GiB, the largest object of one S3 request.');
    }
    if (UPLOAD_SESSION_SEC > 0 && UPLOAD_PART_BYTES_MIN < LEAST_PART_BYTES) {
      throw new ConfigError(
        'Bad settings: UPLOAD_PART_BYTES_MIN must be at least 5MiB, the least part that S3 stores take.',
      );
    }
    // Its library takes 13 MB of memory, which a folder does not need.
    const { openS3Blobs } = await import('./s3/blobs.ts');
    return openS3Blobs({ ...config, S3_ENDPOINT, keys: source && renewedKeys(source) });
  },
};

const kindOf = ({ S3_ENDPOINT }: BlobConfig) => (S3_ENDPOINT === undefined ? 'disk' : 's3');

/**
 * The blob store that the settings name, paired with the database of the record: S3 when there is an endpoint, else a folder.
 * Throws ConfigError.
 */
export async function openBlobs(
  config: BlobConfig,
  record: StoreRecord,
  logger: Logger,
): Promise<PairedBlobs & AsyncDisposable> {
  const kind = kindOf(config);
  return observedBlobs(await pairedBlobs(await PLACES[kind](config), record, logger), kind);
}

/**
 * The most that all uploads may hold together; undefined when there is no ceiling. Without a setting it is what the disk has
 * above what stays free, so that replicas that share one cannot pass that together. Decision exact-ceilings.
 */
export async function uploadCeiling(config: BlobConfig): Promise<{ maxBytes: number | undefined }> {
  const { STORAGE_MAX_BYTES, STORAGE_MIN_FREE_BYTES, BLOB_DIR } = config;
  if (STORAGE_MAX_BYTES !== undefined) return { maxBytes: STORAGE_MAX_BYTES || undefined };
  if (kindOf(config) !== 'disk' || BLOB_DIR === undefined) return { maxBytes: undefined };
  const disk = await diskBytes(BLOB_DIR).catch(() => undefined); // not there: nothing is taken either, until it is
  if (!disk) return { maxBytes: undefined };
  const { size } = disk;
  return { maxBytes: Math.max(size - (STORAGE_MIN_FREE_BYTES ?? defaultMinFree(size)), 0) };
}
