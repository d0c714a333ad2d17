import type { NoticesDatabase, NoticeText } from './messages.ts';

const NOTICES: NoticesDatabase = { name: 'mayfly-notices', store: 'notices' };

/** As much of the registration as is used: the rest of the app is checked with a page's types. */
type Registration = { showNotification(title: string, options: { tag: string; icon: string }): Promise<void> };

/** Shows that something was used, in the words that the page has left for it. A push that shows nothing costs the permission. */
export async function showNotice(registration: Registration, message: string) {
  const key = keyIn(message);
  const wordsFor = (of: string) => textFor(of).catch(() => undefined); // storage was cleared, or is forbidden now
  const text = (await wordsFor(key)) ?? (await wordsFor(''));
  await registration.showNotification(text?.title ?? 'Mayfly', {
    tag: key, // a second use takes the place of the first
    icon: '/icon-192.png',
  });
}

function keyIn(message: string): string {
  try {
    return String(JSON.parse(message).key);
  } catch {
    return ''; // it is not from this service
  }
}

function textFor(key: string): Promise<NoticeText | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<NoticeText | undefined>();
  const opening = indexedDB.open(NOTICES.name, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(NOTICES.store);
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const database = opening.result;
    const reading = database.transaction(NOTICES.store).objectStore(NOTICES.store).get(key);
    reading.onerror = () => reject(reading.error);
    reading.onsuccess = () => {
      database.close();
      resolve(reading.result);
    };
  };
  return promise;
}
