import { parseId } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { OwnedItem, OwnedItems } from '@mayfly/store/owned-items';
import { badOwnerToken, uploadNotFound } from '../../errors.ts';
import type { Owner } from '../../find-upload.ts';

/** The upload as its owner sees it, in whatever state: 404, 401. */
export async function findOwnUpload(
  owned: OwnedItems,
  { id: idText, ownerToken }: Owner,
): Promise<OwnedItem & { id: string }> {
  const id = parseId(idText);
  const item = id && (await owned.find(id));
  if (!item) throw uploadNotFound();
  if (!tokenMatches(ownerToken, item.ownerHash)) throw badOwnerToken();
  return { ...item, id };
}
