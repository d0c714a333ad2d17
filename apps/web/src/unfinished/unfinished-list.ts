import type { UnfinishedUpload } from '@mayfly/client';
import { readAll, readIndexedDb, withDatabase, write } from '../browser-database.ts';

/** What it takes to continue an upload after its page has ended. It holds the link's secret, and is forgotten at the end. */
export type Unfinished = {
  upload: UnfinishedUpload;
  /** Its files in their order, by the names that they were chosen with; handles where the browser gives some. */
  chosen: { name: string; handle?: FileSystemFileHandle | undefined }[];
  expireSec: number;
  maxDownloads: number;
  hasPassword: boolean;
  /** Whether its link may be in somebody's hands. */
  isAnnounced?: boolean;
  /** The link of the file request that it answers, which has the page where it goes on. */
  request?: string | undefined;
};

const DATABASE = { name: 'mayfly-unfinished', store: 'uploads' };

/** Whether it could be kept: where it cannot, an upload goes on without. */
export async function keepUnfinished(item: Unfinished, databases = readIndexedDb()): Promise<boolean> {
  const isKept = await withDatabase(databases, DATABASE, async (database) => {
    await write(database, DATABASE.store, (store) => store.put(item, item.upload.id));
    return true;
  });
  return isKept ?? false;
}

export async function forgetUnfinished(id: string, databases = readIndexedDb()): Promise<void> {
  await withDatabase(databases, DATABASE, (database) => write(database, DATABASE.store, (store) => store.delete(id)));
}

export async function allUnfinished(databases = readIndexedDb()): Promise<Unfinished[]> {
  const all = await withDatabase(databases, DATABASE, (database) => readAll(database, DATABASE.store));
  return (all ?? []) as Unfinished[]; // nobody else writes there
}

const lockOf = (id: string) => `mayfly-unfinished-${id}`;

/** Keeps other pages from offering to continue it, until the returned function is called or this page ends. */
export function holdUnfinished(id: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  navigator.locks?.request(lockOf(id), () => promise).catch(() => {}); // then another page may offer it, which does no harm
  return resolve;
}

/** Waits while some page works on it. */
export async function untilNobodyHolds(id: string): Promise<void> {
  await navigator.locks?.request(lockOf(id), { mode: 'shared' }, () => {});
}
