import { MayflyError } from '@mayfly/client';
import type { SentItem } from './sent-item.ts';
import type { SentList } from './sent-list.ts';

/**
 * Deletes an item at the service, then forgets it. What the service does not have any more is only forgotten. Throws
 * `invalid-request` for an item of another service, which this one would not know either.
 */
export async function deleteItem(
  remove: (item: SentItem) => Promise<unknown>,
  service: string,
  list: Pick<SentList, 'forget'>,
  item: SentItem,
): Promise<void> {
  if (item.service !== service) throw new MayflyError('invalid-request', { message: 'It is on another service' });
  try {
    await remove(item);
  } catch (error) {
    if (!(error instanceof MayflyError) || error.code !== 'not-found') throw error;
  }
  await list.forget(item);
}
