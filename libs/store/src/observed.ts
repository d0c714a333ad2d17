import { observeOperations } from '@mayfly/shared/telemetry/operations';
import type { PairedBlobs } from './paired-blobs.ts';

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

/** A store whose calls are measured, each as an operation on PostgreSQL by the name of its method: `<name>.find`. */
export function observed<Store extends object>(name: string, store: Store): Store {
  const { run } = observeOperations(DATABASE, { 'db.system.name': 'postgresql' });
  return new Proxy(store, {
    get(target, key) {
      const method = Reflect.get(target, key);
      if (typeof method !== 'function') return method;
      return (...given: unknown[]) => run(`${name}.${String(key)}`, () => method.apply(target, given));
    },
  });
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
