import { openSentList } from './browser-sent-list.ts';
import type { SentList } from './sent-list.ts';

let opened: Promise<SentList> | undefined;

/** The one list of this page: without storage it lives as long as the page does. */
export function thisBrowsersList(): Promise<SentList> {
  opened ??= openSentList();
  return opened;
}
