import type { Config } from '@mayfly/shared/config';
import type { blobSettings } from '@mayfly/shared/settings';
import type { BlobStore } from './blobs.ts';
import { openDiskBlobs } from './disk/blobs.ts';

/** The blob store that the settings name. */
export function openBlobs(config: Config<typeof blobSettings>): Promise<BlobStore> {
  return openDiskBlobs(config.BLOB_DIR);
}
