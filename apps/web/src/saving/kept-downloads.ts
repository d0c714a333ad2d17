import { readAll, readIndexedDb, withDatabase, write } from '../browser-database.ts';

/** A download under a lease that is not finished: what it takes to continue it, but for the link's secret. */
export type KeptDownload = {
  /** Names this record, its lock, and its file in the browser's storage. */
  key: string;
  /** The upload's. */
  id: string;
  lease: string;
  /** The upload's. ISO 8601. */
  expiresAt: string;
  /** As the service's config has it. */
  idleSec: number;
  /** Whether it is known to have been counted. */
  hasBegun: boolean;
  /** Content that is in the file, safe from a crash; 0 without one. */
  storedBytes: number;
  /** Milliseconds since 1970. */
  begunAtMs: number;
  activeAtMs: number;
};

const DATABASE = { name: 'mayfly-downloads', store: 'downloads' };
const LONGEST_MS = 24 * 3_600_000;

/** Milliseconds since 1970: until then it can be continued, and perhaps a moment longer. Contract 11. */
export function endsAtMs({ begunAtMs, activeAtMs, idleSec, expiresAt }: KeptDownload): number {
  const idleMs = idleSec * 1000;
  return Math.min(activeAtMs + idleMs, begunAtMs + LONGEST_MS, Date.parse(expiresAt) + idleMs);
}

/** How long it can be continued when it is stopped now: `idleSec`, or whole minutes below that. */
export function continueSec(item: KeptDownload, now = Date.now()): number {
  const seconds = (endsAtMs({ ...item, activeAtMs: now }) - now) / 1000;
  return seconds < item.idleSec ? Math.max(Math.floor(seconds / 60), 1) * 60 : item.idleSec;
}

/** Whether it could be kept: where it cannot, a download goes on without. */
export async function keepDownload(item: KeptDownload, databases = readIndexedDb()): Promise<boolean> {
  const isKept = await withDatabase(databases, DATABASE, async (database) => {
    await write(database, DATABASE.store, (store) => store.put(item, item.key));
    return true;
  });
  return isKept ?? false;
}

export async function forgetDownload(key: string, databases = readIndexedDb()): Promise<void> {
  await withDatabase(databases, DATABASE, (database) => write(database, DATABASE.store, (store) => store.delete(key)));
}

/** Undefined where storage is forbidden or fails. */
export async function allKept(databases = readIndexedDb()): Promise<KeptDownload[] | undefined> {
  const all = await withDatabase(databases, DATABASE, (database) => readAll(database, DATABASE.store));
  return all as KeptDownload[] | undefined; // nobody else writes there
}

/** Whether it was continued to its end, or given up, by another page. */
export async function isForgotten(key: string): Promise<boolean> {
  return (await allKept())?.every((item) => item.key !== key) ?? false;
}

export type FoundDownload = {
  kept: KeptDownload | undefined;
  /** Another page is at it. */
  isElsewhere: boolean;
};

/** The one of this upload that is the furthest, of those that no page works on. */
export async function findKept(id: string, now = Date.now()): Promise<FoundDownload> {
  const candidates = (await livingOf(id, now)).map(async ({ key }) => (await isFreeSoon(key)) && key);
  const free = await Promise.all(candidates);
  // Read again: the page that had one may have ended it, or got further.
  const found = (await livingOf(id, now)).filter(({ key }) => free.includes(key));
  const [kept] = found.toSorted((one, other) => other.storedBytes - one.storedBytes);
  return { kept, isElsewhere: free.includes(false) };
}

async function livingOf(id: string, now: number): Promise<KeptDownload[]> {
  return ((await allKept()) ?? []).filter((item) => item.id === id && endsAtMs(item) > now);
}

const lockOf = (key: string) => `mayfly-download-${key}`;

/** After a reload the page before this one may take a moment to end. */
const FREE_SOON_MS = 1_500;

async function isFreeSoon(key: string): Promise<boolean> {
  const signal = AbortSignal.timeout(FREE_SOON_MS);
  const look = navigator.locks?.request(lockOf(key), { mode: 'shared', signal }, () => true);
  return (await look?.catch(() => !signal.aborted)) ?? true;
}

/**
 * Keeps other pages from it, its file too, until the returned function is called or this page ends. Undefined while another page
 * has it.
 */
export async function holdDownload(key: string): Promise<(() => void) | undefined> {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<boolean>();
  const hold = navigator.locks?.request(lockOf(key), { ifAvailable: true }, (lock) => {
    isHeld.resolve(lock !== null);
    return lock ? promise : undefined;
  });
  if (hold)
    hold.catch(() => isHeld.resolve(true)); // no locks here: what is open is in nobody's way
  else isHeld.resolve(true);
  return (await isHeld.promise) ? release : undefined;
}
