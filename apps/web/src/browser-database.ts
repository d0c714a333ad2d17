/** A store of this browser's IndexedDB. Throws where the browser gives none, as every function here does when it fails. */
export async function openDatabase(
  databases: IDBFactory | undefined,
  name: string,
  store: string,
): Promise<IDBDatabase> {
  if (!databases) throw new Error('there is no IndexedDB');
  const request = databases.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(store);
  return resultOf(request);
}

/** Some browsers throw when a page without storage only asks. */
export function readIndexedDb(): IDBFactory | undefined {
  try {
    return globalThis.indexedDB;
  } catch {
    return undefined; // the same as none
  }
}

/** For what nobody's transfer depends on: undefined where storage is forbidden or fails. */
export async function withDatabase<R>(
  databases: IDBFactory | undefined,
  { name, store }: { name: string; store: string },
  use: (database: IDBDatabase) => Promise<R>,
): Promise<R | undefined> {
  try {
    const database = await openDatabase(databases, name, store);
    return await use(database).finally(() => database.close());
  } catch {
    return undefined; // see above
  }
}

export async function readAll(database: IDBDatabase, store: string): Promise<unknown[]> {
  return resultOf(database.transaction(store).objectStore(store).getAll());
}

/** Waits until the change is on the disk. */
export async function write(database: IDBDatabase, store: string, change: (store: IDBObjectStore) => IDBRequest) {
  const transaction = database.transaction(store, 'readwrite', { durability: 'strict' });
  change(transaction.objectStore(store));
  await new Promise<void>((resolve, reject) => {
    transaction.onabort = () => reject(transaction.error);
    transaction.oncomplete = () => resolve();
  });
}

function resultOf<R>(request: IDBRequest<R>): Promise<R> {
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error);
    request.onsuccess = () => resolve(request.result);
  });
}
