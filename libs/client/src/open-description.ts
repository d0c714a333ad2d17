import type { UploadInfo } from './answers.ts';
import type { Context, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import type { Keys } from './keys.ts';
import { FORMAT_2, partedPlaintextSize } from './layout.ts';
import type { Link } from './link.ts';
import { describedSize, type Metadata } from './metadata.ts';
import { NEWEST_FORMAT } from './open-payload.ts';
import { openKeys } from './protection.ts';
import { readMetadata } from './read-metadata.ts';
import { plaintextSize } from './size.ts';

/** What a link opens: found before anything is spent. */
export type Opened = { keys: Keys; metadata: Metadata; size: number };

/** Throws `not-finished`, `newer-format` or `tampered`, and what readMetadata throws. The link is open. */
export async function openDescription(
  context: Context,
  link: Link,
  info: UploadInfo,
  options: RequestOptions,
): Promise<Opened> {
  const keys = await openKeys(link, info, context.transport.encryption);
  const metadata = await readMetadata(context, link, keys, info, options);
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
