import { visibleName } from '../archives/entries.ts';
import { t } from '../languages/index.ts';
import type { SentItem } from './sent-item.ts';

const NAMED_FILES = 3;

/** What a row is called: the first names of an upload and how many more it has, the kind of a note, or what was asked for. */
export function titleOf({ files = [], contentType, title: asked }: SentItem): { title: string; others: number } {
  if (asked !== undefined) return { title: asked, others: 0 };
  if (contentType) return { title: t.send.noteTypes[contentType], others: 0 };
  const names = files.slice(0, NAMED_FILES).map(({ name }) => visibleName(name));
  return { title: names.join(', '), others: files.length - names.length };
}

/** Whether the words of a search are in its title or in the name of one of its files. */
export function isNamed(item: SentItem, query: string): boolean {
  const names = [titleOf(item).title, ...(item.files ?? []).map(({ name }) => name)].map(fold);
  return fold(query)
    .split(/\s+/)
    .every((word) => names.some((name) => name.includes(word)));
}

/** Without accents and capitals: whoever searches for a name types it in a hurry. */
function fold(text: string): string {
  return text.trim().normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}
