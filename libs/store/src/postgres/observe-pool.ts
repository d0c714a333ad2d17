import { SECONDS } from '@mayfly/shared/telemetry/operations';
import { type Histogram, metrics } from '@opentelemetry/api';
import type pg from 'pg';

const POOL = { 'db.client.connection.pool.name': 'postgresql' };

/** How many connections there are, and how many callers wait for one. */
export function observePool(pool: pg.Pool) {
  const meter = metrics.getMeter('mayfly');
  const count = meter.createObservableUpDownCounter('db.client.connection.count', {
    description: 'Connections to PostgreSQL, by what they do',
  });
  const max = meter.createObservableUpDownCounter('db.client.connection.max', {
    description: 'Most connections to PostgreSQL of the process',
  });
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', {
    description: 'Statements that wait for a connection to PostgreSQL',
  });
  meter.addBatchObservableCallback(
    (result) => {
      const { totalCount, idleCount, waitingCount } = pool;
      result.observe(count, totalCount - idleCount, { ...POOL, 'db.client.connection.state': 'used' });
      result.observe(count, idleCount, { ...POOL, 'db.client.connection.state': 'idle' });
      result.observe(max, pool.options.max, POOL);
      result.observe(pending, waitingCount, POOL);
    },
    [count, max, pending],
  );
}

/**
 * How long callers wait before PostgreSQL is asked: those of a batch until it is their statement's turn, statements until there
 * is a connection. To be told when the wait ends, however it does, with when it began by `performance.now()`.
 */
export function observeWaits(queue: 'batch' | 'pool'): (since: number) => void {
  let histogram: Histogram | undefined; // made at the first wait: batches exist before the process measures
  return (since) => {
    histogram ??= metrics.getMeter('mayfly').createHistogram('db.client.connection.wait_time', {
      description: 'Time that callers waited until PostgreSQL was asked',
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    });
    histogram.record((performance.now() - since) / 1000, { ...POOL, 'mayfly.queue': queue });
  };
}
