import type { Context, RequestOptions } from './context.ts';
import type { Kind } from './link.ts';
import { getNoteInfo } from './notes.ts';
import { getUploadInfo } from './upload-info.ts';

/** Downloads of an upload, views of a note. */
export type Usage = { usedCount: number; maxUses: number; expiresAt: string };

/** What everybody who knows the id is told. */
export async function getUsage(
  context: Context,
  item: { kind: Kind; id: string },
  options: RequestOptions,
): Promise<Usage> {
  const { kind, id } = item;
  const address = { baseUrl: context.baseUrl, id };
  if (kind === 'note') {
    const { viewCount, maxViews, expiresAt } = await getNoteInfo(context, address, options);
    return { usedCount: viewCount, maxUses: maxViews, expiresAt };
  }
  const { downloadCount, maxDownloads, expiresAt } = await getUploadInfo(context, address, options);
  return { usedCount: downloadCount, maxUses: maxDownloads, expiresAt };
}
