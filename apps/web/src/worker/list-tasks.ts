import type { Hooks, NewTerms } from '@mayfly/client';
import { exportItems, importItems } from '../my-uploads/list-file.ts';
import { isContent, keepLinkOf, type SentContent, type SentItem } from '../my-uploads/sent-item.ts';
import { readStatus, toStatus } from '../my-uploads/status.ts';
import type { Task } from './task.ts';

/** Its code is loaded where there is one in the list. */
const requestsOf = async (task: Task) => (await import('./request-tasks.ts')).requestsOf(task);

export type StatusArguments = { item: SentItem; service: string; isOwner: boolean };

/** What the service knows about something that was sent. Spends nothing. */
export function status({ item, service, isOwner }: StatusArguments, task: Task) {
  const { client, signal } = task;
  const listDrops = async (link: string) => (await requestsOf(task)).list(link, { signal });
  const isBlocked = async (id: string) => {
    const { getNotice } = await import('./notice-task.ts');
    return (await getNotice({ id }, task)) !== undefined;
  };
  return readStatus(client, service, item, { signal, isOwner, listDrops, isBlocked });
}

/** Gives what was sent another end, or another number of uses. */
export async function setTerms({ item, terms }: { item: SentContent; terms: NewTerms }, { client, signal }: Task) {
  return toStatus(await client.setTerms(item, { ownerSecret: item.ownerSecret, signal }, terms));
}

/** Has somebody told of uses; without hooks nobody any more. */
export async function setHooks({ item, hooks }: { item: SentItem; hooks: Hooks | undefined }, task: Task) {
  const { client, signal } = task;
  if (!isContent(item)) return (await requestsOf(task)).setHooks(keepLinkOf(item), hooks, { signal });
  await client.setHooks(item, { ownerSecret: item.ownerSecret, signal }, hooks);
}

/** The list as the text of a file. Deriving the passphrase's key takes a while. */
export function exportList({ items, passphrase }: { items: SentItem[]; passphrase: string }, _: Task) {
  return exportItems(items, passphrase);
}

export function importList({ file, passphrase }: { file: string; passphrase: string }, _: Task) {
  return importItems(file, passphrase);
}
