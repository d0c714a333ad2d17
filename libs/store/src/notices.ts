import type { PushHook, WebHook } from './hooks.ts';

/**
 * `used`: a download or a view was counted. `whole`: a download arrived whole; only webhooks are told. `dropped`: an upload was dropped
 * into a request.
 */
export type NoticeEvent = 'used' | 'whole' | 'dropped';

/** What is to be sent to a hook. */
export type Notice = {
  /** Random, and the same at every attempt. */
  id: string;
  itemId: string;
  event: NoticeEvent;
  /** To the minute; undefined where times are not kept. */
  at: Date | undefined;
} & ({ kind: 'push'; hook: PushHook } | { kind: 'webhook'; hook: WebHook });

/** Notices that are left are dropped after so many attempts. */
export const MOST_ATTEMPTS = 6;
/** After each attempt, how long it is until the next. A process that dies in one leaves the notice to be taken then. */
export const RETRY_AFTER_SEC = [60, 300, 1_800, 7_200, 28_800, 28_800];

/** What the hooks of uploads, or of notes, are still to be sent. Safe with any number of callers at once. */
export interface Notices {
  /**
   * Notices to send now, an attempt of each: so many in all and to one host, none to those that are busy. Each is handed out again at its next time unless
   * it is settled. `dropped`: those that had their last attempt before, or whose hook has gone.
   */
  take(which: { limit: number; perHost: number; busyHosts: string[] }): Promise<{ taken: Notice[]; dropped: number }>;
  /** It was sent, or never will be. */
  settle(notice: Pick<Notice, 'id' | 'itemId'>): Promise<void>;
  /** The receiver of this notice wants no more: its hook goes, with all that was to be sent there. Another that has taken its place stays. */
  endHook(notice: Notice): Promise<void>;
  /** How many wait, counted up to 100,000. */
  waiting(): Promise<number>;
}
