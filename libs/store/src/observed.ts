import { type Operations, observeOperations } from '@mayfly/shared/telemetry/operations';
import { metrics } from '@opentelemetry/api';
import type pg from 'pg';
import type { Notes } from './notes.ts';
import type { PairedBlobs } from './paired-blobs.ts';
import type { UploadReconciliation } from './reconcile.ts';
import type { NoteSweep, UploadSweep } from './sweep.ts';
import type { Uploads } from './uploads.ts';

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

/** Method by method, so that a store may be a class, and one more method does not compile before it is measured. */
function onDatabase(prefix: string): Operations['run'] {
  const { run } = observeOperations(DATABASE, { 'db.system.name': 'postgresql' });
  return (operation, work) => run(`${prefix}.${operation}`, work);
}

export function observedUploads(uploads: Uploads): Uploads {
  const run = onDatabase('uploads');
  return {
    begin: (...given) => run('begin', () => uploads.begin(...given)),
    renewLease: (...given) => run('renewLease', () => uploads.renewLease(...given)),
    publish: (...given) => run('publish', () => uploads.publish(...given)),
    abandon: (...given) => run('abandon', () => uploads.abandon(...given)),
    find: (...given) => run('find', () => uploads.find(...given)),
    setMeta: (...given) => run('setMeta', () => uploads.setMeta(...given)),
    claimDownload: (...given) => run('claimDownload', () => uploads.claimDownload(...given)),
    returnDownload: (...given) => run('returnDownload', () => uploads.returnDownload(...given)),
    remove: (...given) => run('remove', () => uploads.remove(...given)),
    blobsDeleted: (...given) => run('blobsDeleted', () => uploads.blobsDeleted(...given)),
    check: () => run('check', () => uploads.check()),
  };
}

export function observedUploadSweep(uploads: UploadSweep): UploadSweep {
  const run = onDatabase('uploads');
  return {
    retire: (...given) => run('retire', () => uploads.retire(...given)),
    reapAbandoned: (...given) => run('reapAbandoned', () => uploads.reapAbandoned(...given)),
    endTombstones: (...given) => run('endTombstones', () => uploads.endTombstones(...given)),
    takeDeletions: (...given) => run('takeDeletions', () => uploads.takeDeletions(...given)),
  };
}

export function observedReconciliation(uploads: UploadReconciliation): UploadReconciliation {
  const run = onDatabase('uploads');
  return {
    known: (...given) => run('known', () => uploads.known(...given)),
    available: (...given) => run('available', () => uploads.available(...given)),
    noteOrphans: (...given) => run('noteOrphans', () => uploads.noteOrphans(...given)),
    markLost: (...given) => run('markLost', () => uploads.markLost(...given)),
    markFound: (...given) => run('markFound', () => uploads.markFound(...given)),
  };
}

export function observedNotes(notes: Notes): Notes {
  const run = onDatabase('notes');
  return {
    add: (...given) => run('add', () => notes.add(...given)),
    find: (...given) => run('find', () => notes.find(...given)),
    claimView: (...given) => run('claimView', () => notes.claimView(...given)),
    remove: (...given) => run('remove', () => notes.remove(...given)),
    check: () => run('check', () => notes.check()),
  };
}

export function observedNoteSweep(notes: NoteSweep): NoteSweep {
  const run = onDatabase('notes');
  return {
    retire: (...given) => run('retire', () => notes.retire(...given)),
    endTombstones: (...given) => run('endTombstones', () => notes.endTombstones(...given)),
  };
}

/** `kind`: where the blobs are, `disk` or `s3`. A list and a reservation are no single operation. */
export function observedBlobs(blobs: PairedBlobs & AsyncDisposable, kind: string): PairedBlobs & AsyncDisposable {
  const { run } = observeOperations(BLOBS, { 'mayfly.blob_store': kind }, 'mayfly.operation');
  return {
    reserve: (...given) => blobs.reserve(...given),
    put: (...given) => run('put', () => blobs.put(...given)),
    open: (...given) => run('open', () => blobs.open(...given)),
    delete: (...given) => run('delete', () => blobs.delete(...given)),
    list: () => blobs.list(),
    endPartials: (...given) => run('endPartials', () => blobs.endPartials(...given)),
    check: () => run('check', () => blobs.check()),
    assertPaired: () => run('assertPaired', () => blobs.assertPaired()),
    adopt: (...given) => run('adopt', () => blobs.adopt(...given)),
    [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose](),
  };
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
