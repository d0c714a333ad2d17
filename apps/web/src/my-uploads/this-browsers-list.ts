import { openSentList } from './browser-sent-list.ts';
import type { SentList } from './sent-list.ts';

const CHANNEL = 'mayfly-sent';

let opened: Promise<SentList> | undefined;

/** The one list of this page: without storage it lives as long as the page does. Its changes are told to all pages that show it. */
export function thisBrowsersList(): Promise<SentList> {
  opened ??= openSentList().then(told);
  return opened;
}

/** Runs whenever this page or another one has changed the list, until the signal is aborted. */
export function onListChange(run: () => void, signal: AbortSignal) {
  const channel = openChannel();
  if (!channel) return;
  channel.onmessage = run;
  signal.addEventListener('abort', () => channel.close());
}

function told(list: SentList): SentList {
  const channel = openChannel();
  // That something has changed, and nothing of what.
  const tell = () => channel?.postMessage('changed');
  return {
    get isKept() {
      return list.isKept;
    },
    all: () => list.all(),
    put: (item) => list.put(item).then(tell),
    forget: (item) => list.forget(item).then(tell),
  };
}

/** Some browsers have none, and some forbid it with the storage: then a page finds out when it looks again. */
function openChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(CHANNEL);
  } catch {
    return undefined; // see above
  }
}
