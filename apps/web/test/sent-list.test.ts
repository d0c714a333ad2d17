import { IDBDatabase, IDBFactory } from 'fake-indexeddb';
import { describe, expect, test } from 'vitest';
import { openSentList } from '../src/my-uploads/browser-sent-list.ts';
import { memorySentList, mergeItems, type SentList } from '../src/my-uploads/sent-list.ts';
import { sentNote, sentUpload } from './sent-items.ts';

describe.each([
  { name: 'IndexedDB', isKept: true, open: () => openSentList(new IDBFactory()) },
  { name: 'memory', isKept: false, open: async () => memorySentList() },
])('a list in $name', ({ isKept, open }) => {
  test('says whether it is kept', async () => {
    expect((await open()).isKept).toBe(isKept);
  });

  test('gives what was put in, newest first', async () => {
    const list = await open();
    const [old, middle, young] = [sentUpload(1), sentNote(2), sentUpload(3)];
    for (const item of [middle, young, old]) await list.put(item);
    expect(await list.all()).toEqual([young, middle, old]);
  });

  test('has one entry for each item', async () => {
    const list = await open();
    await list.put(sentUpload(1));
    await list.put(sentUpload(1, { maxUses: 9 }));
    expect(await list.all()).toEqual([sentUpload(1, { maxUses: 9 })]);
  });

  test('forgets one item and keeps the others', async () => {
    const list = await open();
    await list.put(sentUpload(1));
    await list.put(sentUpload(2));
    await list.forget(sentUpload(1));
    expect(await list.all()).toEqual([sentUpload(2)]);
  });

  test('takes in what it does not have yet', async () => {
    const list = await open();
    await list.put(sentUpload(1, { maxUses: 9 }));
    const items = [sentUpload(1), sentUpload(2), sentNote(3), sentUpload(2)];
    expect(await mergeItems(list, items)).toEqual({ added: 2, known: 2 });
    expect(await list.all()).toEqual([sentNote(3), sentUpload(2), sentUpload(1, { maxUses: 9 })]);
    expect(await mergeItems(list, items)).toEqual({ added: 0, known: 4 });
  });
});

test('what one page put into IndexedDB, the next page finds', async () => {
  const databases = new IDBFactory();
  await (await openSentList(databases)).put(sentUpload(1));
  expect(await (await openSentList(databases)).all()).toEqual([sentUpload(1)]);
});

test.each([
  ['there is no IndexedDB', () => undefined],
  ['opening throws', () => Object.assign(new IDBFactory(), { open: () => fail() })],
  ['opening fails later', () => Object.assign(new IDBFactory(), { open: openFails })],
])('where %s, the list is in memory and says so', async (_, databases) => {
  const list = await openSentList(databases());
  await list.put(sentUpload(1));
  expect({ isKept: list.isKept, items: await list.all() }).toEqual({ isKept: false, items: [sentUpload(1)] });
});

test('when the disk is full, a new item is kept in memory beside the old ones, and the list says so', async () => {
  const databases = new IDBFactory();
  const list = await openSentList(databases);
  await list.put(sentUpload(1));
  await breakWrites(databases, async () => {
    await list.put(sentUpload(2));
    expect(list.isKept).toBe(false);
    expect(await list.all()).toEqual([sentUpload(2), sentUpload(1)]);
  });
  await list.forget(sentUpload(2));
  expect(await list.all()).toEqual([sentUpload(1)]);
});

test('when the browser takes the storage away, the list goes on in memory', async () => {
  const databases = new IDBFactory();
  const list = await openSentList(databases);
  await list.put(sentUpload(1));
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = () => {
    throw new DOMException('closed', 'InvalidStateError');
  };
  try {
    await list.put(sentUpload(2));
    expect(await list.all()).toEqual([sentUpload(2)]);
    await list.forget(sentUpload(2));
    expect({ isKept: list.isKept, items: await list.all() }).toEqual({ isKept: false, items: [] });
  } finally {
    IDBDatabase.prototype.transaction = transaction;
  }
});

test('an entry that cannot be understood does not hide the others', async () => {
  const databases = new IDBFactory();
  const list: SentList = await openSentList(databases);
  await list.put({ ...sentUpload(1), link: 'javascript:alert(1)' });
  await list.put(sentUpload(2));
  expect(await list.all()).toEqual([sentUpload(2)]);
});

function fail(): never {
  throw new DOMException('denied', 'SecurityError');
}

function openFails() {
  const request = { error: new DOMException('denied', 'UnknownError') } as unknown as IDBOpenDBRequest;
  queueMicrotask(() => request.onerror?.(new Event('error')));
  return request;
}

/** Every write fails as it does when a browser has no room left. */
async function breakWrites(databases: IDBFactory, work: () => Promise<void>) {
  const database = await new Promise<IDBDatabase>((resolve) => {
    const request = databases.open('mayfly-sent');
    request.onsuccess = () => resolve(request.result);
  });
  const prototype = Object.getPrototypeOf(database.transaction('items').objectStore('items'));
  const { put } = prototype;
  prototype.put = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  try {
    await work();
  } finally {
    prototype.put = put;
    database.close();
  }
}
