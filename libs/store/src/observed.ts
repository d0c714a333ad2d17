import { observed, observeOperations } from '@mayfly/shared/telemetry/operations';
import { metrics } from '@opentelemetry/api';
import type pg from 'pg';

// What the stores are watched by: one span and one time per operation. The names are those of the interfaces.

const DATABASE = {
  name: 'db.client.operation.duration',
  description: 'Time of an operation on PostgreSQL or Redis, the wait for a connection included',
};
const BLOBS = {
  name: 'mayfly.blob_store.operation.duration',
  description:
    'Time of an operation on the blob store: a put until the last byte is stored, an open until the first can be read',
};

/** The table of uploads, with its sweep where it has one. */
export function observedUploads<Store extends object>(store: Store): Store {
  return observed(store, observeOperations(DATABASE, { 'db.system.name': 'postgresql' }), { prefix: 'uploads.' });
}

export function observedNotes<Store extends object>(store: Store): Store {
  return observed(store, observeOperations(DATABASE, { 'db.system.name': 'postgresql' }), { prefix: 'notes.' });
}

/** `kind`: where the blobs are, `disk` or `s3`. */
export function observedBlobs<Store extends AsyncDisposable>(store: Store, kind: string): Store {
  const operations = observeOperations(BLOBS, { 'mayfly.blob_store': kind }, 'mayfly.operation');
  const watched = observed(store, operations, { except: ['list', 'reserve'] });
  return Object.assign(watched, { [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() });
}

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
