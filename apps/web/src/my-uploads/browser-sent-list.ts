import { openDatabase, readAll, readIndexedDb, write } from '../browser-database.ts';
import { itemKey, readSentItem } from './sent-item.ts';
import { memorySentList, newestFirst, type SentList } from './sent-list.ts';

const DATABASE = 'mayfly-sent';
const STORE = 'items';

/** The list in this browser's IndexedDB; one in memory when the browser does not let it be opened or written to. */
export async function openSentList(databases: IDBFactory | undefined = readIndexedDb()): Promise<SentList> {
  try {
    return withFallback(await openDatabase(databases, DATABASE, STORE));
  } catch {
    return memorySentList(); // storage is forbidden here, and `isKept` says so
  }
}

/** Storage that fails later (full, taken away) does not stand in anybody's way: from then on memory has to do. */
function withFallback(database: IDBDatabase): SentList {
  const unsaved = memorySentList();
  let isKept = true;
  const fail = () => {
    isKept = false;
  };
  return {
    get isKept() {
      return isKept;
    },
    async all() {
      const saved = (await readAll(database, STORE).catch(fail)) ?? [];
      const items = saved.map(readSentItem).filter((item) => item !== undefined);
      return newestFirst([...items, ...(await unsaved.all())]);
    },
    async put(item) {
      // On the disk before the link is shown: what the list has lost cannot be deleted any more.
      await write(database, STORE, (store) => store.put(item, itemKey(item))).catch(() => {
        fail();
        return unsaved.put(item);
      });
    },
    async forget(item) {
      await unsaved.forget(item);
      await write(database, STORE, (store) => store.delete(itemKey(item))).catch(fail);
    },
  };
}
