import { itemKey, type SentItem } from './sent-item.ts';

/** What was sent from this browser. */
export interface SentList {
  /** False when the list ends with this page: the browser gives no storage. */
  readonly isKept: boolean;
  /** Newest first. */
  all(): Promise<SentItem[]>;
  /** Adds an item, or takes the place of the one with the same key. */
  put(item: SentItem): Promise<void>;
  /** Forgets an item; what the service has is not touched. */
  forget(item: SentItem): Promise<void>;
}

/** A list that ends with the page. */
export function memorySentList(): SentList {
  const items = new Map<string, SentItem>();
  return {
    isKept: false,
    all: async () => newestFirst([...items.values()]),
    put: async (item) => void items.set(itemKey(item), item),
    forget: async (item) => void items.delete(itemKey(item)),
  };
}

export function newestFirst(items: SentItem[]): SentItem[] {
  return items.toSorted((one, other) => Date.parse(other.sentAt) - Date.parse(one.sentAt));
}

/** Adds what the list does not have yet. */
export async function mergeItems(list: SentList, items: SentItem[]): Promise<{ added: number; known: number }> {
  const keys = new Set((await list.all()).map(itemKey));
  let added = 0;
  for (const item of items) {
    if (keys.has(itemKey(item))) continue;
    keys.add(itemKey(item));
    await list.put(item);
    added += 1;
  }
  return { added, known: items.length - added };
}
