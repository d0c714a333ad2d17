import type { UploadInfo } from './answers.ts';
import { MayflyError } from './errors.ts';
import type { Keys } from './keys.ts';
import { FORMAT_2, partedPlaintextSize } from './layout.ts';
import type { Link } from './link.ts';
import { describedSize, type Metadata } from './metadata.ts';
import { NEWEST_FORMAT } from './open-payload.ts';
import { openKeys } from './protection.ts';
import { plaintextSize } from './size.ts';
import { readMetadata } from './upload-info.ts';

/** What a link opens: found before anything is spent. */
export type Opened = { keys: Keys; metadata: Metadata; size: number };

/** Throws `not-finished`, `newer-format` or `tampered`. The link is open. */
export async function openDescription(link: Link, info: UploadInfo): Promise<Opened> {
  const keys = await openKeys(link, info);
  const metadata = await readMetadata(link, keys, info);
  if (!metadata) throw new MayflyError('not-finished');
  if ((metadata.format ?? 1) > NEWEST_FORMAT) throw new MayflyError('newer-format');
  const size = contentSize(metadata, info.size);
  const isAsDescribed = size === describedSize(metadata) && size === (metadata.size ?? size);
  if (size === undefined || !isAsDescribed) throw new MayflyError('tampered');
  return { keys, metadata, size };
}

/** Undefined when a payload with so many bytes is not what the metadata says. */
function contentSize({ format, segmentsPerPart = 0, size = 0 }: Metadata, encryptedBytes: number): number | undefined {
  if (format !== FORMAT_2) return plaintextSize(encryptedBytes);
  const paddedSize = partedPlaintextSize(encryptedBytes, segmentsPerPart);
  return paddedSize !== undefined && size <= paddedSize ? size : undefined;
}
