import { metrics } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { observed, observedBlobs } from '../src/observed.ts';

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

type Observe = (store: never) => object;
const onDatabase = (names: string, list: string): [string, Observe, (operation: string) => unknown] => [
  list,
  (store) => observed(names, store),
  (operation) => database(`${names}.${operation}`),
];

test.each<[string, Observe, (name: string) => unknown]>([
  onDatabase(
    'uploads',
    'begin renewLease publish abandon find setMeta claimDownload returnDownload remove blobsDeleted check',
  ),
  onDatabase('uploads', 'retire reapAbandoned endTombstones takeDeletions partedDeletions partsDeleted'),
  onDatabase('uploads', 'known arriving available recordOrphans markLost markFound'),
  onDatabase('sessions', 'begin find parts part record seal unseal publish cancel'),
  onDatabase('notes', 'add find claimView remove check'),
  onDatabase('notes', 'retire endTombstones'),
  onDatabase('ownedNotes', 'find setTerms'),
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
  const watched = observe(store as never) as Record<string, (...given: unknown[]) => unknown>;
  for (const name of names) {
    measured.length = 0;
    const given = ['check', 'assertPaired'].includes(name) ? [] : ['one', 'two'];
    expect(await watched[name]?.(...given)).toEqual([store, name, ...given]);
    expect(measured).toEqual([expected(name)]);
  }
});
