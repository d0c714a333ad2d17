import { metrics } from '@opentelemetry/api';
import type pg from 'pg';

/** How many connections there are, and how many callers wait for one. */
export function observePool(pool: pg.Pool) {
  const meter = metrics.getMeter('mayfly');
  const attributes = { 'db.client.connection.pool.name': 'postgresql' };
  const count = meter.createObservableUpDownCounter('db.client.connection.count', {
    description: 'Connections to PostgreSQL, by what they do',
  });
  const max = meter.createObservableUpDownCounter('db.client.connection.max', {
    description: 'Most connections to PostgreSQL of the process',
  });
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', {
    description: 'Callers that wait for a connection to PostgreSQL',
  });
  meter.addBatchObservableCallback(
    (result) => {
      const { totalCount, idleCount, waitingCount } = pool;
      result.observe(count, totalCount - idleCount, { ...attributes, 'db.client.connection.state': 'used' });
      result.observe(count, idleCount, { ...attributes, 'db.client.connection.state': 'idle' });
      result.observe(max, pool.options.max, attributes);
      result.observe(pending, waitingCount, attributes);
    },
    [count, max, pending],
  );
}
