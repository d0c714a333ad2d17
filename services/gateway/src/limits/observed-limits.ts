import { observeOperations } from '@mayfly/shared/telemetry/operations';
import { metrics } from '@opentelemetry/api';
import type { RequestLimits, Ticket } from './limits.ts';

type Decision = 'admitted' | 'rate_limited' | 'locked' | 'quota_exceeded';

/** The same limits, with what they decide counted: never about whom. */
export function observedLimits(requests: RequestLimits): RequestLimits {
  const meter = metrics.getMeter('mayfly');
  const decisions = meter.createCounter('mayfly.limits.decisions', {
    description: 'Requests by what the limits decided, and whether all replicas (redis) or one process (memory) did',
  });
  const wrongTokens = meter.createCounter('mayfly.tokens.wrong', { description: 'Wrong tokens that were refused' });
  const charged = meter.createCounter('mayfly.quota.bytes', {
    description: 'Bytes that were charged to quotas, and those that were given back',
    unit: 'By',
  });
  const redis = observeOperations(
    { name: 'db.client.operation.duration', description: 'Time of an operation on PostgreSQL or Redis' },
    { 'db.system.name': 'redis' },
  );
  return {
    ...requests,
    credit(address, bytes) {
      charged.add(bytes, { 'mayfly.change': 'given_back' });
      return requests.credit(address, bytes);
    },
    async admit(request) {
      const ticket = await redis.run('limits.admit', () => requests.admit(request));
      const decision = decisionOf(ticket);
      decisions.add(1, { 'mayfly.decision': decision, 'mayfly.kept_by': ticket.admission.keptBy });
      const isCharged = decision === 'admitted' && request.bytes > 0 && requests.limits.quotaBytes > 0;
      if (isCharged) charged.add(request.bytes, { 'mayfly.change': 'charged' });
      return {
        ...ticket,
        giveBack() {
          if (isCharged) charged.add(request.bytes, { 'mayfly.change': 'given_back' });
          return ticket.giveBack();
        },
        fail() {
          wrongTokens.add(1);
          return ticket.fail();
        },
      };
    },
  };
}

function decisionOf({ admission, lockedMs }: Ticket): Decision {
  if (admission.isLimited) return 'rate_limited';
  if (lockedMs > 0) return 'locked';
  return admission.isQuotaExceeded ? 'quota_exceeded' : 'admitted';
}
