import { metrics } from '@opentelemetry/api';

/** What happens to uploads, notes or requests, in the order in which it can. */
export type FunnelEvent =
  | 'started'
  | 'finished'
  | 'aborted'
  | 'first_used'
  | 'used'
  | 'spent'
  | 'given_back'
  | 'deleted'
  | 'expired'
  | 'expired_unused';

export type Funnel = (event: FunnelEvent, count?: number) => void;

/** Counts events, of all items together: no label says which. */
export function openFunnel(kind: 'upload' | 'note' | 'request'): Funnel {
  const events = metrics.getMeter('mayfly').createCounter('mayfly.items.events', {
    description:
      'What happened to uploads, notes and requests: started, finished or aborted, first used, used, spent, deleted, expired',
  });
  return (event, count = 1) => {
    if (count > 0) events.add(count, { 'mayfly.kind': kind, 'mayfly.event': event });
  };
}

/** One use: the first one and the last one count as such, too. */
export function recordUse(funnel: Funnel, usedCount: number, maxUses: number) {
  funnel('used');
  if (usedCount === 1) funnel('first_used');
  if (usedCount >= maxUses) funnel('spent');
}
