import { observeOperations } from '@mayfly/shared/telemetry/operations';
import { metrics } from '@opentelemetry/api';
import type { RequestLimits, Ticket } from './limits.ts';

type Decision = 'admitted' | 'worked' | 'rate_limited' | 'locked' | 'quota_exceeded';

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
    creators: {
      ...requests.creators,
      async charge(...args) {
        const charge = await requests.creators.charge(...args);
        const labels = { 'mayfly.decision': 'creator_quota_exceeded', 'mayfly.kept_by': charge.keptBy };
        if (charge.isExceeded) decisions.add(1, labels);
        return charge;
      },
    },
    credit(address, bytes) {
      charged.add(bytes, { 'mayfly.change': 'given_back' });
      return requests.credit(address, bytes);
    },
    async admit(request) {
      const ticket = await redis.run('limits.admit', () => requests.admit(request));
      const decision = decisionOf(ticket, request.hasPlace);
      decisions.add(1, { 'mayfly.decision': decision, 'mayfly.kept_by': ticket.admission.keptBy });
      const isCharged =
        (decision === 'admitted' || decision === 'worked') && request.bytes > 0 && requests.limits.quotaBytes > 0;
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

/** A request that has worked for its place was rate limited before. */
function decisionOf({ admission, lockedMs }: Ticket, hasWorked = false): Decision {
  if (admission.isLimited) return 'rate_limited';
  if (lockedMs > 0) return 'locked';
  if (admission.isQuotaExceeded) return 'quota_exceeded';
  return hasWorked ? 'worked' : 'admitted';
}
