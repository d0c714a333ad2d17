import { type MayflyClient, MayflyError } from '@mayfly/client';
import type { SentItem } from './sent-item.ts';
import type { SentList } from './sent-list.ts';

/**
 * Deletes an item at the service, then forgets it. What the service does not have any more is only forgotten. Throws
 * `invalid-request` for an item of another service, which this one would not know either.
 */
export async function deleteItem(
  client: Pick<MayflyClient, 'remove'>,
  service: string,
  list: Pick<SentList, 'forget'>,
  item: SentItem,
  options: { signal?: AbortSignal } = {},
): Promise<void> {
  if (item.service !== service) throw new MayflyError('invalid-request', { message: 'It is on another service' });
  try {
    await client.remove(item, item.ownerSecret, options);
  } catch (error) {
    if (!(error instanceof MayflyError) || error.code !== 'not-found') throw error;
  }
  await list.forget(item);
}
