import { metrics } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import {
  observedBlobs,
  observedNoteSweep,
  observedNotes,
  observedOwnedItems,
  observedReconciliation,
  observedUploadSessions,
  observedUploadSweep,
  observedUploads,
} from '../src/observed.ts';

// Dashboards know these names. Every store is measured, however it is written.

const measured: [string, object][] = [];
metrics.setGlobalMeterProvider({
  getMeter: () => ({
    createHistogram: (name: string) => ({
      record: (_: number, attributes: object) => measured.push([name, attributes]),
    }),
  }),
} as never); // all that observing operations asks for

const database = (operation: string) => [
  'db.client.operation.duration',
  { 'db.system.name': 'postgresql', 'db.operation.name': operation },
];
const blobStore = (operation: string) => [
  'mayfly.blob_store.operation.duration',
  { 'mayfly.blob_store': 'disk', 'mayfly.operation': operation },
];

const ofUploads = (name: string) => database(`uploads.${name}`);
const ofSessions = (name: string) => database(`sessions.${name}`);
const ofNotes = (name: string) => database(`notes.${name}`);
type Observe = (store: never) => object;

test.each<[string, Observe, (name: string) => unknown]>([
  [
    'begin renewLease publish abandon find setMeta claimDownload returnDownload remove blobsDeleted check',
    observedUploads,
    ofUploads,
  ],
  ['retire reapAbandoned endTombstones takeDeletions partedDeletions partsDeleted', observedUploadSweep, ofUploads],
  ['known arriving available recordOrphans markLost markFound', observedReconciliation, ofUploads],
  ['begin find parts part record seal unseal publish cancel', observedUploadSessions, ofSessions],
  ['add find claimView remove check', observedNotes, ofNotes],
  ['retire endTombstones', observedNoteSweep, ofNotes],
  [
    'find setTerms',
    (store) => observedOwnedItems(store, 'ownedNotes'),
    (name: string) => database(`ownedNotes.${name}`),
  ],
  ['put open delete endPartials check assertPaired adopt', (store) => observedBlobs(store, 'disk'), blobStore],
])('a store that is a class is measured: %s', async (list, observe, expected) => {
  class Store {}
  const names = list.split(' ');
  for (const name of names) {
    Object.defineProperty(Store.prototype, name, {
      async value(this: unknown, ...given: unknown[]) {
        return [this, name, ...given];
      },
    });
  }
  const store = new Store();
  const observed = observe(store as never) as Record<string, (...given: unknown[]) => unknown>;
  for (const name of names) {
    measured.length = 0;
    const given = ['check', 'assertPaired'].includes(name) ? [] : ['one', 'two'];
    expect(await observed[name]?.(...given)).toEqual([store, name, ...given]);
    expect(measured).toEqual([expected(name)]);
  }
});
