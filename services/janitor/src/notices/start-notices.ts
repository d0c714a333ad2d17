import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@mayfly/shared/logger';
import { logOutage } from '@mayfly/shared/outage-log';
import type { Notice, Notices } from '@mayfly/store/notices';
import { openNoticeMetrics } from './notice-metrics.ts';
import type { ItemKind } from './requests.ts';
import type { Send } from './send.ts';

export type NoticesDeps = {
  outboxes: Record<ItemKind, Notices>;
  send: Send;
  logger: Logger;
};

/** Between two looks at the tables, where nothing was left. */
const PAUSE_MS = 1_000;
/** Requests under way at once. Each takes seconds at most, so that many that hang keep few others. */
const MOST_RUNNING = 256;
/** The same to one host: one that hangs keeps nobody else. */
const MOST_PER_HOST = 16;
/** Requests end by themselves before that. */
const CLOSE_MS = 10_000;

/**
 * Sends what hooks are to be told, as soon as it is noted. It needs PostgreSQL and nothing else; replicas share the work. A notice is forgotten
 * once it was sent, and comes again later unless it was. Disposing waits for requests that are under way. Decision notices-in-an-outbox.
 */
export function startNotices({ outboxes, send, logger }: NoticesDeps): AsyncDisposable {
  const closing = new AbortController();
  const metrics = openNoticeMetrics(outboxes, logger);
  const running = new Set<Promise<void>>();
  const perHost = new Map<string, number>();
  const count = (host: string, by: number) => {
    const now = (perHost.get(host) ?? 0) + by;
    if (now > 0) perHost.set(host, now);
    else perHost.delete(host);
  };

  const attempt = async (item: ItemKind, notice: Notice) => {
    const outcome = await send(item, notice);
    metrics.attempted(notice.kind, outcome);
    if (outcome === 'sent') await outboxes[item].settle(notice);
    if (outcome === 'gone') await outboxes[item].endHook(notice);
  };
  const start = (item: ItemKind, notice: Notice) => {
    const { host } = notice.hook;
    count(host, 1);
    const work = attempt(item, notice)
      .catch((err: unknown) => logOutage(logger, err)) // it was sent, perhaps, and will be once more
      .finally(() => {
        count(host, -1);
        running.delete(work);
      });
    running.add(work);
  };

  /** Whether more may be waiting. */
  const round = async (): Promise<boolean> => {
    let isMore = false;
    for (const item of ['upload', 'note'] as const) {
      const limit = MOST_RUNNING - running.size;
      if (limit === 0) return true;
      const busyHosts = [...perHost].filter(([, under]) => under >= MOST_PER_HOST).map(([host]) => host);
      const { taken, dropped } = await outboxes[item].take({ limit, perHost: MOST_PER_HOST, busyHosts });
      metrics.dropped(dropped);
      for (const notice of taken) start(item, notice);
      isMore ||= taken.length + dropped > 0;
    }
    return isMore;
  };

  const work = (async () => {
    while (!closing.signal.aborted) {
      const isMore = await round().catch((err: unknown) => {
        logOutage(logger, err);
        return false;
      });
      const pause = sleep(PAUSE_MS, undefined, { signal: closing.signal }).catch(() => {}); // asked to stop
      await (isMore && running.size > 0 ? Promise.race([pause, ...running]) : isMore ? undefined : pause);
    }
  })();

  return {
    async [Symbol.asyncDispose]() {
      closing.abort();
      metrics.close();
      const all = work.then(() => Promise.all(running));
      await Promise.race([all, sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}
