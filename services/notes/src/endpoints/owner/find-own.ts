import type { IncomingHttpHeaders } from 'node:http';
import { parseId } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { OwnedItem, OwnedItems } from '@mayfly/store/owned-items';
import { badOwnerToken, noteNotFound } from '../../errors.ts';

/** The note as its owner sees it, in whatever state: 404, 401. */
export async function findOwnNote(
  owned: OwnedItems,
  idText: string,
  { 'x-owner-token': ownerToken }: IncomingHttpHeaders,
): Promise<OwnedItem & { id: string }> {
  const id = parseId(idText);
  const item = id && (await owned.find(id));
  if (!item) throw noteNotFound();
  if (!tokenMatches(ownerToken, item.ownerHash)) throw badOwnerToken();
  return { ...item, id };
}
