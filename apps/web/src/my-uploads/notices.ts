import type { ServiceConfig } from '@mayfly/client';
import { openDatabase, readAll, readIndexedDb, withDatabase, write } from '../browser-database.ts';
import { t } from '../languages/index.ts';
import { hasServiceWorkers, startServiceWorker } from '../service-worker/active.ts';
import type { NoticesDatabase, NoticeText } from '../service-worker/messages.ts';
import { call } from '../worker/call.ts';
import { itemKey, type SentItem } from './sent-item.ts';

// Decision notices-in-an-outbox: the browser's push service carries that something was used, and the words stay here.

const NOTICES: NoticesDatabase = { name: 'mayfly-notices', store: 'notices' };

type Kept = NoticeText & { key: string };

/** The key that this browser would subscribe with; undefined where it, or the service, tells nobody. */
export function pushKeyOf(config: ServiceConfig | undefined): string | undefined {
  const canShow = hasServiceWorkers() && 'PushManager' in globalThis && 'Notification' in globalThis;
  return canShow ? config?.notices?.pushKey : undefined;
}

/** What this browser is told of, by `itemKey`. */
export async function toldItems(): Promise<Set<string>> {
  const kept = (await withDatabase(readIndexedDb(), NOTICES, (database) => readAll(database, NOTICES.store))) ?? [];
  return new Set((kept as Kept[]).map(({ item }) => item));
}

/** The person, or the browser, does not allow notifications from this page. */
export class NotAllowed extends Error {
  override name = 'NotAllowed';
}

/** Has this browser told of uses. To be called by a click: the browser asks whether it may. */
export async function tellUses(item: SentItem, pushKey: string, title: string): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted') throw new NotAllowed();
  const { endpoint, keys } = await subscription(pushKey);
  const key = toBase64url(crypto.getRandomValues(new Uint8Array(16)));
  const database = await openDatabase(readIndexedDb(), NOTICES.name, NOTICES.store);
  try {
    // First the words, so that no notice comes without them.
    const kept: Kept = { key, item: itemKey(item), title };
    await write(database, NOTICES.store, (store) => store.put(kept, key));
    const any: Kept = { key: '', item: '', title: t.uploads.noticeTitle.any };
    await write(database, NOTICES.store, (store) => store.put(any, ''));
    await call('setHooks', { item, hooks: { push: { endpoint, keys, key } } }).catch(async (error) => {
      await write(database, NOTICES.store, (store) => store.delete(key));
      throw error;
    });
  } finally {
    database.close();
  }
}

/** Ends that, at the service and here. */
export async function stopTelling(item: SentItem): Promise<void> {
  await call('setHooks', { item, hooks: undefined });
  await forgetNotices(item);
}

/** Of something that is in the list no more. Best effort: it holds a name, and the browser's storage can be cleared. */
export async function forgetNotices(item: SentItem): Promise<void> {
  await withDatabase(readIndexedDb(), NOTICES, async (database) => {
    const kept = (await readAll(database, NOTICES.store)) as Kept[];
    for (const { key } of kept.filter((one) => one.item === itemKey(item)))
      await write(database, NOTICES.store, (store) => store.delete(key));
  });
}

/** This browser's only one. One that was made for another key of the service is of no use any more. */
async function subscription(pushKey: string): Promise<{ endpoint: string; keys: { p256dh: string; auth: string } }> {
  const { pushManager } = (await startServiceWorker()).registration;
  const options = { userVisibleOnly: true, applicationServerKey: pushKey };
  const subscribed = await pushManager.subscribe(options).catch(async () => {
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(options);
  });
  const { endpoint, keys } = subscribed.toJSON();
  if (!endpoint || !keys?.p256dh || !keys.auth) throw new Error('the subscription has no keys');
  return { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } };
}

function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}
