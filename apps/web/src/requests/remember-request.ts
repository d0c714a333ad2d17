import { isContent, keepLinkOf, type SentItem } from '../my-uploads/sent-item.ts';
import { thisBrowsersList } from '../my-uploads/this-browsers-list.ts';
import type { Result } from '../worker/tasks.ts';

export type Remembered = { title: string; dropLink: string; keepLink: string; isKept: boolean };

/** Puts a new request into this browser's list, before its links are shown. */
export async function rememberRequest(
  { id, expiresAt, dropLink, keepLink }: Result<'createRequest'>,
  { title, maxDrops }: { title: string; maxDrops: number },
): Promise<Remembered> {
  const item: SentItem = {
    kind: 'request',
    id,
    service: location.origin,
    link: dropLink,
    ownerSecret: keepLink.slice(keepLink.indexOf('#k') + 2),
    sentAt: new Date().toISOString(),
    expiresAt,
    maxUses: maxDrops,
    hasPassword: false,
    title,
  };
  const list = await thisBrowsersList();
  await list.put(item);
  return { title, dropLink, keepLink: keepLinkOf(item), isKept: list.isKept };
}

/** Takes the request of a private link out of the list. */
export async function forgetRequest(keepLink: string): Promise<void> {
  const list = await thisBrowsersList();
  for (const item of await list.all()) if (!isContent(item) && keepLinkOf(item) === keepLink) await list.forget(item);
}
