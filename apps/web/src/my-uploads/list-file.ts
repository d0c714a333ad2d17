import { MayflyError, openFile, sealFile } from '@mayfly/client';
import { readSentItem, type SentItem } from './sent-item.ts';

// docs/crypto.md, "Sent list".

const CONTENT = 'mayfly sent list';

type PasswordCost = NonNullable<Parameters<typeof sealFile>[1]['unsafePasswordCost']>;

/** The list as the text of a file that the passphrase opens. */
export function exportItems(items: SentItem[], passphrase: string, unsafePasswordCost?: PasswordCost): Promise<string> {
  return sealFile(JSON.stringify({ items }), { content: CONTENT, passphrase, unsafePasswordCost });
}

/** What such a file holds. Throws `wrong-password`, and `bad-source` for another file. */
export async function importItems(
  file: string,
  passphrase: string,
  unsafePasswordCost?: PasswordCost,
): Promise<{ items: SentItem[]; unreadable: number }> {
  const { items: values } = parse(await openFile(file, { content: CONTENT, passphrase, unsafePasswordCost }));
  if (!Array.isArray(values)) throw new MayflyError('bad-source');
  const items = values.map(readSentItem).filter((item) => item !== undefined);
  return { items, unreadable: values.length - items.length };
}

function parse(json: string): { items?: unknown } {
  try {
    return JSON.parse(json) ?? {};
  } catch (cause) {
    throw new MayflyError('bad-source', { cause });
  }
}
