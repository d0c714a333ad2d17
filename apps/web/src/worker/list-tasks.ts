import { exportItems, importItems } from '../my-uploads/list-file.ts';
import type { SentItem } from '../my-uploads/sent-item.ts';
import { readStatus } from '../my-uploads/status.ts';
import type { Task } from './task.ts';

/** What the service knows about something that was sent. Spends nothing. */
export function status({ item, service }: { item: SentItem; service: string }, { client, signal }: Task) {
  return readStatus(client, service, item, { signal });
}

/** The list as the text of a file. Deriving the passphrase's key takes a while. */
export function exportList({ items, passphrase }: { items: SentItem[]; passphrase: string }, _: Task) {
  return exportItems(items, passphrase);
}

export function importList({ file, passphrase }: { file: string; passphrase: string }, _: Task) {
  return importItems(file, passphrase);
}
