import { randomUUID } from 'node:crypto';
import { ConfigError } from '@mayfly/shared/config';
import { Unavailable } from '@mayfly/shared/errors';
import type { Logger } from '@mayfly/shared/logger';
import type { BlobStore } from './blobs.ts';
import { type MarkedPlace, type StoreRecord, WrongStore } from './marker.ts';
import { pairedParts } from './paired-parts.ts';

/** So many uploads are looked for where a marker is missing; half of them have to be there. */
const SAMPLE = 20;
/** Where nobody can tell yet, an operator may have helped meanwhile. */
const ASK_AGAIN_MS = 30_000;

const ADOPT = 'If it is the right one, say so: npm run admin -- adopt-store';
const AWAY = 'The blob store is not there: its folder or bucket is missing.';
const OTHER = `The blob store bears another database's marker. ${ADOPT}`;
const UNMARKED = `The blob store does not bear this database's marker: is it the wrong one, not mounted, or empty? ${ADOPT}`;
const UNSURE = `The blob store bears no marker, and lacks most uploads that it should have. ${ADOPT}`;

export type AdoptResult = { sampled: number; found: number; isAdopted: boolean };

/** A blob store and its database, which know each other. Decision paired-blob-store. */
export type PairedBlobs = BlobStore & {
  /** Resolves when this is the store that the database belongs to; else rejects with WrongStore. Asks store and database anew. */
  assertPaired(): Promise<void>;
  /**
   * An operator says that this is the store: it is made when missing, and gets the marker. Not when it lacks most of what
   * it should have, unless `isForced`.
   */
  adopt(isForced: boolean): Promise<AdoptResult>;
};

/**
 * Nothing is stored in, or deleted from, a store that is not the database's: a folder that is not mounted, another bucket. The
 * two get to know each other when the database is empty, or, without a marker, when the store has what it should have.
 */
export async function pairedBlobs(
  place: BlobStore & MarkedPlace & AsyncDisposable,
  record: StoreRecord,
  logger: Logger,
): Promise<PairedBlobs & AsyncDisposable> {
  /** The marker's id; undefined when nobody can tell whether the store is the right one. */
  let pairing: Promise<string | undefined> | undefined;
  let unsureAt = Number.POSITIVE_INFINITY;
  let seenAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;
  let isPrivate = false;
  let isMovedIn = false;

  async function pairAnew() {
    try {
      const id = await pair(place, record);
      unsureAt = id === undefined ? performance.now() : Number.POSITIVE_INFINITY;
      if (id === undefined) logger.error(UNSURE);
      if (!isPrivate) await place.assertPrivate();
      isPrivate = true;
      if (id !== undefined && !isMovedIn) void moveIn();
      return id;
    } catch (error) {
      pairing = undefined;
      throw error;
    }
  }
  /** In the background: what is not moved is served from where it is, and the next start tries again. */
  async function moveIn() {
    isMovedIn = true;
    try {
      const moved = await place.moveIn?.();
      if (moved) logger.info({ moved }, 'the blobs of an earlier version are in their folders now');
    } catch (err) {
      logger.warn({ err }, 'blobs of an earlier version stay where they are, and are served from there');
    }
  }
  function paired() {
    if (performance.now() - unsureAt >= ASK_AGAIN_MS) pairing = undefined;
    pairing ??= pairAnew();
    return pairing;
  }

  async function look(id: string) {
    if (!(await place.bears(id))) throw new WrongStore(UNMARKED);
    seenAt = performance.now();
  }
  async function assertUsable() {
    const id = await paired();
    if (id === undefined || performance.now() - seenAt < place.markerFreshMs) return;
    // Callers at the same time share one look.
    looking ??= look(id).finally(() => {
      looking = undefined;
    });
    await looking;
  }

  await paired().catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    if (error instanceof WrongStore) logger.error(error.message);
    else logger.warn({ err: error }, 'the blob store cannot be used yet; everything else is served meanwhile');
  });

  return {
    reserve: (id, sizeBytes) => place.reserve(id, sizeBytes),
    open: (...given) => place.open(...given),
    read: (...given) => place.read(...given),
    list: () => place.list(),
    endPartials: (...given) => place.endPartials(...given),
    parts: pairedParts(place.parts, () => assertUsable().catch(rejectUnavailable)),

    async put(...[id, body, sizeBytes, signal]: Parameters<BlobStore['put']>) {
      await assertUsable().catch(rejectUnavailable);
      await place.put(id, body, sizeBytes, signal);
    },

    async delete(ids: string[]) {
      try {
        await assertUsable();
        if ((await pairing) === undefined) return ids;
      } catch {
        return ids; // where it is not known to be the right store, nothing counts as deleted, though nothing is found there
      }
      return place.delete(ids);
    },

    async check() {
      await assertUsable().catch(rejectUnavailable);
      await place.check();
    },

    async assertPaired() {
      pairing = undefined;
      if ((await paired().catch(rejectUnavailable)) === undefined) throw new WrongStore(UNSURE);
    },

    async adopt(isForced: boolean) {
      const ids = await record.sample(SAMPLE);
      const found = (await place.exists()) ? await countThere(place, ids) : 0;
      const isAdopted = isForced || found * 2 >= ids.length;
      if (isAdopted) {
        await place.create();
        const id = await mark(place, record);
        for (const other of await place.markers()) if (other !== id) await place.unmark(other);
        pairing = undefined;
      }
      return { sampled: ids.length, found, isAdopted };
    },

    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

async function pair(place: BlobStore & MarkedPlace, record: StoreRecord): Promise<string | undefined> {
  const known = await record.read();
  const isEmpty = !known?.isMarked && !(await record.hasUploads());
  if (isEmpty) await place.create();
  else if (!(await place.exists())) throw new WrongStore(AWAY);
  if (known?.isMarked) {
    if (!(await place.bears(known.id))) throw new WrongStore(UNMARKED);
    return known.id;
  }
  const markers = await place.markers();
  // Asked after the look at the store: another process may have introduced the two meanwhile.
  const now = await record.read();
  if (markers.some((id) => id !== now?.id)) throw new WrongStore(OTHER);
  if (!isEmpty) {
    const ids = await record.sample(SAMPLE);
    if ((await countThere(place, ids)) * 2 < ids.length) return undefined;
  }
  return mark(place, record);
}

/** The database decides on the id, so that any number of processes may do this at once, and be killed in any step. */
async function mark(place: MarkedPlace, record: StoreRecord): Promise<string> {
  const id = await record.settle(randomUUID());
  await place.mark(id);
  await record.marked();
  return id;
}

async function countThere(place: BlobStore, ids: string[]): Promise<number> {
  let found = 0;
  for (const id of ids) {
    const payload = await place.open(id);
    payload?.destroy();
    if (payload) found += 1;
  }
  return found;
}

function rejectUnavailable(cause: unknown): never {
  throw cause instanceof Unavailable ? cause : new Unavailable('The blob store cannot be used', { cause });
}
