import type { Logger } from '@mayfly/shared/logger';
import type { Notice, Notices } from '@mayfly/store/notices';
import { metrics, type ObservableResult } from '@opentelemetry/api';
import type { ItemKind } from './requests.ts';
import type { Attempt } from './send.ts';

/** What notices are watched by: how attempts ended, and how many wait. Never to whom they went. */
export function openNoticeMetrics(outboxes: Record<ItemKind, Notices>, logger: Logger) {
  const meter = metrics.getMeter('mayfly');
  const attempts = meter.createCounter('mayfly.notices', {
    description: 'Attempts to tell somebody of a use, by how they ended',
  });
  const waiting = meter.createObservableGauge('mayfly.notices.waiting', {
    description: 'Notices that were not sent yet, those that are tried again among them (counted up to 100,000)',
  });
  const observe = async (result: ObservableResult) => {
    for (const [item, outbox] of Object.entries(outboxes)) {
      const count = await outbox.waiting().catch((err: unknown) => {
        logger.debug({ err }, 'the notices were not counted');
        return undefined; // a figure that is not known is left out
      });
      if (count !== undefined) result.observe(count, { 'mayfly.kind': item });
    }
  };
  waiting.addCallback(observe);
  return {
    attempted: (kind: Notice['kind'], outcome: Attempt) =>
      attempts.add(1, { 'mayfly.kind': kind, 'mayfly.outcome': outcome }),
    dropped: (count: number) => {
      if (count > 0) attempts.add(count, { 'mayfly.kind': 'any', 'mayfly.outcome': 'dropped' });
    },
    close: () => waiting.removeCallback(observe),
  };
}
