// biome-ignore-all lint/style/noExcessiveLinesPerFile: one list of all stores, each written alike.

import { type Operations, observeOperations } from '@mayfly/shared/telemetry/operations';
import type { DownloadLeases } from './download-leases.ts';
import type { FileRequestSweep, FileRequests } from './file-requests.ts';
import type { Notes } from './notes.ts';
import type { Notices } from './notices.ts';
import type { OwnedItems } from './owned-items.ts';
import type { PairedBlobs } from './paired-blobs.ts';
import type { UploadReconciliation } from './reconcile.ts';
import type { Blocks, DeskSweep, Reports } from './reports.ts';
import type { NoteSweep, UploadSweep } from './sweep.ts';
import type { UploadSessions } from './upload-sessions.ts';
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
    release: (...given) => run('release', () => uploads.release(...given)),
    returnDownload: (...given) => run('returnDownload', () => uploads.returnDownload(...given)),
    remove: (...given) => run('remove', () => uploads.remove(...given)),
    blobsDeleted: (...given) => run('blobsDeleted', () => uploads.blobsDeleted(...given)),
    check: () => run('check', () => uploads.check()),
  };
}

export function observedUploadSweep(uploads: UploadSweep): UploadSweep {
  const run = onDatabase('uploads');
  return {
    endLeases: (...given) => run('endLeases', () => uploads.endLeases(...given)),
    retire: (...given) => run('retire', () => uploads.retire(...given)),
    reapAbandoned: (...given) => run('reapAbandoned', () => uploads.reapAbandoned(...given)),
    endTombstones: (...given) => run('endTombstones', () => uploads.endTombstones(...given)),
    takeDeletions: (...given) => run('takeDeletions', () => uploads.takeDeletions(...given)),
    partedDeletions: (...given) => run('partedDeletions', () => uploads.partedDeletions(...given)),
    partsDeleted: (...given) => run('partsDeleted', () => uploads.partsDeleted(...given)),
  };
}

export function observedReconciliation(uploads: UploadReconciliation): UploadReconciliation {
  const run = onDatabase('uploads');
  return {
    known: (...given) => run('known', () => uploads.known(...given)),
    arriving: (...given) => run('arriving', () => uploads.arriving(...given)),
    available: (...given) => run('available', () => uploads.available(...given)),
    recordOrphans: (...given) => run('recordOrphans', () => uploads.recordOrphans(...given)),
    markLost: (...given) => run('markLost', () => uploads.markLost(...given)),
    markFound: (...given) => run('markFound', () => uploads.markFound(...given)),
  };
}

export function observedUploadSessions(sessions: UploadSessions): UploadSessions {
  const run = onDatabase('sessions');
  return {
    begin: (...given) => run('begin', () => sessions.begin(...given)),
    find: (...given) => run('find', () => sessions.find(...given)),
    parts: (...given) => run('parts', () => sessions.parts(...given)),
    part: (...given) => run('part', () => sessions.part(...given)),
    hold: (...given) => run('hold', () => sessions.hold(...given)),
    letGo: (...given) => run('letGo', () => sessions.letGo(...given)),
    record: (...given) => run('record', () => sessions.record(...given)),
    seal: (...given) => run('seal', () => sessions.seal(...given)),
    unseal: (...given) => run('unseal', () => sessions.unseal(...given)),
    publish: (...given) => run('publish', () => sessions.publish(...given)),
    cancel: (...given) => run('cancel', () => sessions.cancel(...given)),
  };
}

export function observedDownloadLeases(leases: DownloadLeases): DownloadLeases {
  const run = onDatabase('leases');
  return {
    take: (...given) => run('take', () => leases.take(...given)),
    find: (...given) => run('find', () => leases.find(...given)),
    describe: (...given) => run('describe', () => leases.describe(...given)),
    renew: (...given) => run('renew', () => leases.renew(...given)),
    settle: (...given) => run('settle', () => leases.settle(...given)),
    end: (...given) => run('end', () => leases.end(...given)),
  };
}

export function observedFileRequests(requests: FileRequests): FileRequests {
  const run = onDatabase('requests');
  return {
    add: (...given) => run('add', () => requests.add(...given)),
    find: (...given) => run('find', () => requests.find(...given)),
    drop: (...given) => run('drop', () => requests.drop(...given)),
    drops: (...given) => run('drops', () => requests.drops(...given)),
    setHooks: (...given) => run('setHooks', () => requests.setHooks(...given)),
    endHooks: (...given) => run('endHooks', () => requests.endHooks(...given)),
    remove: (...given) => run('remove', () => requests.remove(...given)),
  };
}

export function observedFileRequestSweep(requests: FileRequestSweep): FileRequestSweep {
  const run = onDatabase('requests');
  return {
    retire: (...given) => run('retire', () => requests.retire(...given)),
    endTombstones: (...given) => run('endTombstones', () => requests.endTombstones(...given)),
  };
}

export function observedReports(reports: Reports): Reports {
  const run = onDatabase('reports');
  return { add: (...given) => run('add', () => reports.add(...given)) };
}

export function observedBlocks(blocks: Blocks): Blocks {
  const run = onDatabase('blocks');
  return { find: (...given) => run('find', () => blocks.find(...given)) };
}

export function observedDeskSweep(desk: DeskSweep): DeskSweep {
  const run = onDatabase('desk');
  return {
    endReports: () => run('endReports', () => desk.endReports()),
    endBlocks: (...given) => run('endBlocks', () => desk.endBlocks(...given)),
  };
}

export function observedNotes(notes: Notes): Notes {
  const run = onDatabase('notes');
  return {
    add: (...given) => run('add', () => notes.add(...given)),
    find: (...given) => run('find', () => notes.find(...given)),
    claimSmallView: (...given) => run('claimSmallView', () => notes.claimSmallView(...given)),
    claimView: (...given) => run('claimView', () => notes.claimView(...given)),
    remove: (...given) => run('remove', () => notes.remove(...given)),
    check: () => run('check', () => notes.check()),
  };
}

/** `kind`: whose they are, `ownedUploads` or `ownedNotes`. */
export function observedOwnedItems(items: OwnedItems, kind: string): OwnedItems {
  const run = onDatabase(kind);
  return {
    find: (...given) => run('find', () => items.find(...given)),
    setTerms: (...given) => run('setTerms', () => items.setTerms(...given)),
    setHooks: (...given) => run('setHooks', () => items.setHooks(...given)),
    endHooks: (...given) => run('endHooks', () => items.endHooks(...given)),
  };
}

/** `kind`: what they tell of, `uploadNotices` or `noteNotices`. */
export function observedNotices(notices: Notices, kind: string): Notices {
  const run = onDatabase(kind);
  return {
    take: (...given) => run('take', () => notices.take(...given)),
    settle: (...given) => run('settle', () => notices.settle(...given)),
    endHook: (...given) => run('endHook', () => notices.endHook(...given)),
    waiting: () => run('waiting', () => notices.waiting()),
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
    read: (...given) => run('read', () => blobs.read(...given)),
    delete: (...given) => run('delete', () => blobs.delete(...given)),
    list: () => blobs.list(),
    endPartials: (...given) => run('endPartials', () => blobs.endPartials(...given)),
    parts: {
      begin: (...given) => run('beginParts', () => blobs.parts.begin(...given)),
      put: (...given) => run('putPart', () => blobs.parts.put(...given)),
      drop: (...given) => run('dropPart', () => blobs.parts.drop(...given)),
      complete: (...given) => run('completeParts', () => blobs.parts.complete(...given)),
      abort: (...given) => run('abortParts', () => blobs.parts.abort(...given)),
    },
    check: () => run('check', () => blobs.check()),
    assertPaired: () => run('assertPaired', () => blobs.assertPaired()),
    adopt: (...given) => run('adopt', () => blobs.adopt(...given)),
    [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose](),
  };
}
