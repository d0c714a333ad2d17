import { itemKey, readSentItem, type SentItem } from './sent-item.ts';
import { memorySentList, newestFirst, type SentList } from './sent-list.ts';

const DATABASE = 'mayfly-sent';
const STORE = 'items';

/** The list in this browser's IndexedDB; one in memory when the browser does not let it be opened or written to. */
export async function openSentList(databases: IDBFactory | undefined = readIndexedDb()): Promise<SentList> {
  try {
    if (!databases) return memorySentList();
    return withFallback(await openDatabase(databases));
  } catch {
    return memorySentList(); // storage is forbidden here, and `isKept` says so
  }
}

function readIndexedDb(): IDBFactory | undefined {
  try {
    return globalThis.indexedDB;
  } catch {
    return undefined; // some browsers throw when a page without storage only asks
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
      const saved = await readAll(database).catch(fail);
      return newestFirst([...(saved ?? []), ...(await unsaved.all())]);
    },
    async put(item) {
      await write(database, (store) => store.put(item, itemKey(item))).catch(() => {
        fail();
        return unsaved.put(item);
      });
    },
    async forget(item) {
      await unsaved.forget(item);
      await write(database, (store) => store.delete(itemKey(item))).catch(fail);
    },
  };
}

function openDatabase(databases: IDBFactory): Promise<IDBDatabase> {
  const request = databases.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error);
    request.onsuccess = () => resolve(request.result);
  });
}

async function readAll(database: IDBDatabase): Promise<SentItem[]> {
  const request = database.transaction(STORE).objectStore(STORE).getAll();
  const values = await new Promise<unknown[]>((resolve, reject) => {
    request.onerror = () => reject(request.error);
    request.onsuccess = () => resolve(request.result);
  });
  return values.map(readSentItem).filter((item) => item !== undefined);
}

/** Waits until the change is on the disk: a link that the list has lost cannot be deleted any more. */
async function write(database: IDBDatabase, change: (store: IDBObjectStore) => IDBRequest): Promise<void> {
  const transaction = database.transaction(STORE, 'readwrite', { durability: 'strict' });
  change(transaction.objectStore(STORE));
  await new Promise<void>((resolve, reject) => {
    transaction.onabort = () => reject(transaction.error);
    transaction.oncomplete = () => resolve();
  });
}
