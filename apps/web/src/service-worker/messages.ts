// Words between the page, the worker and the service worker.

/** From the page to the service worker. */
export type ToServiceWorker =
  /** A download is about to come; the port beside it brings its bytes. */
  | { offer: string; name: string; size: number }
  /** Files that another program has shared: they are sent to the port beside it. */
  | { collect: string }
  /** Nothing but a sign of life: a browser ends a service worker that nobody speaks to. */
  | 'stay';

/**
 * Where the texts of notifications are kept, by the key that a notice bears, and by '' one for notices whose own is gone: the page writes them, the service worker shows them. A type,
 * since the two can share no code: a service worker that imports cannot run everywhere.
 */
export type NoticesDatabase = { name: 'mayfly-notices'; store: 'notices' };
export type NoticeText = {
  /** Whose it is: `itemKey`. */
  item: string;
  title: string;
};

/** From the worker to a download in the service worker, through its port. */
export type ToDownload = { chunk: Uint8Array<ArrayBuffer> } | 'end' | 'failed';

/**
 * The other way. The first `pull` says that the browser has begun the download. `empty`: memory of a chunk that the browser has taken, to be
 * filled again: left to be collected it would come to hundreds of megabytes.
 */
export type FromDownload = 'offered' | 'pull' | 'cancelled' | { empty: ArrayBuffer };
