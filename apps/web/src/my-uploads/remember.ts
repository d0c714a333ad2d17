import type { Created, NoteContentType } from '@mayfly/client';
import type { SentItem } from './sent-item.ts';
import { thisBrowsersList } from './this-browsers-list.ts';

export type Sent = {
  created: Created;
  uses: number;
  expiresAt: string;
  hasPassword: boolean;
  /** An upload's files, or a note's type. */
  content: { files: { name: string; size: number }[] } | { contentType: NoteContentType };
};

/** Puts what was sent just now into this browser's list. */
export async function remember({ created, uses, expiresAt, hasPassword, content }: Sent): Promise<void> {
  const { kind, id, link, ownerSecret } = created;
  const item: SentItem = {
    kind,
    id,
    service: location.origin,
    link,
    ownerSecret,
    sentAt: new Date().toISOString(),
    expiresAt,
    maxUses: uses,
    hasPassword,
    ...content,
  };
  await (await thisBrowsersList()).put(item);
}

/** Takes what its owner has deleted out of the list. */
export async function forgetDeleted({ kind, id }: Pick<Created, 'kind' | 'id'>): Promise<void> {
  const list = await thisBrowsersList();
  for (const item of await list.all()) if (item.kind === kind && item.id === id) await list.forget(item);
}
