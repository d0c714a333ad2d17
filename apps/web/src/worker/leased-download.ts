import {
  type DownloadLeases,
  type DownloadOptions,
  type Link,
  MayflyError,
  newLease,
  parseAddress,
} from '@mayfly/client';
import {
  endsAtMs,
  forgetDownload,
  holdDownload,
  isForgotten,
  type KeptDownload,
  keepDownload,
} from '../saving/kept-downloads.ts';
import type { Sink } from '../saving/sink.ts';
import type { StoredPart } from '../saving/storage-sink.ts';
import { reporting } from './reporting.ts';
import type { Task } from './task.ts';

export type Leasing = {
  link: string | Link;
  /** When the upload expires. ISO 8601. */
  expiresAt: string;
  /** As the service's config has it. */
  downloadLeases: DownloadLeases | undefined;
  /** What an earlier download has left, to be continued. */
  kept?: KeptDownload | undefined;
};

/** Storage that does not answer holds no download up for longer. */
const KEEP_MS = 3_000;
const END_MS = 60_000;
/** What has come is saved by then, for a page that crashes. */
const SAVE_WITHIN_MS = 2_000;

/** One download, under a lease where the service has them; what it takes to continue it is then kept beside it. */
export class LeasedDownload {
  readonly #task: Task;
  readonly #link: string | Link;
  #kept: KeptDownload | undefined;
  #release: () => void;
  #saving: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(task: Task, link: string | Link, kept: KeptDownload | undefined, release: () => void) {
    this.#task = task;
    this.#link = link;
    this.#kept = kept;
    this.#release = release;
  }

  /** Throws `download-ended` when what was kept is over, `aborted` when another page has taken it. */
  static async begin(leasing: Leasing, task: Task): Promise<LeasedDownload> {
    const { kept } = leasing;
    if (kept && (endsAtMs(kept) <= Date.now() || (await isForgotten(kept.key)))) throw await over(kept, task);
    const item = kept ?? newlyKept(leasing);
    const release = item ? await holdDownload(item.key) : () => {};
    if (!release) throw new MayflyError('aborted');
    const download = new LeasedDownload(task, leasing.link, item, release);
    if (item) await download.#keep(item);
    return download;
  }

  /** Its file in the browser's storage, if it comes to that. */
  get part(): StoredPart | undefined {
    return this.#kept;
  }

  /** For the client. Counts once however often its connection breaks. */
  options({ part, signal }: Pick<Sink, 'part' | 'signal'>): DownloadOptions {
    const { onProgress, onTrouble } = reporting(this.#task, 'receiving');
    if (!this.#kept) return { onProgress, signal };
    const { lease, idleSec, hasBegun } = this.#kept;
    return {
      lease,
      isContinued: hasBegun,
      startBytes: part?.startBytes ?? 0,
      downloadLeases: { idleSec },
      // Later its lease may be over, and the same name would be another download.
      patienceMs: endsAtMs(this.#kept) - Date.now(),
      onTrouble,
      onProgress: (doneBytes, totalBytes) => {
        onProgress(doneBytes, totalBytes);
        this.#saveSoon(part);
      },
      signal,
    };
  }

  /** It has been counted. */
  async hasBegun() {
    await this.#keep({ hasBegun: true, activeAtMs: Date.now() });
  }

  /** All of it is there. It stays held: nobody may take the file while this page may hand it out. */
  async finish() {
    if (!this.#kept) return;
    const { lease } = this.#kept;
    await this.#forget();
    // Nobody waits for it: it ends by itself.
    void this.#task.client.endLease(this.#link, lease, { signal: AbortSignal.timeout(END_MS), isWhole: true });
  }

  /** Keeps what can be continued. */
  async fail(error: unknown, sink?: Pick<Sink, 'writable' | 'part' | 'discard'>) {
    this.stopSaving();
    const part = this.#kept && mayGoOn(error) ? sink?.part : undefined;
    if (part) {
      await sink?.writable.close().catch(() => {}); // what waits for more is written
      await this.#keep(saved(part));
      part.leave();
    } else {
      await sink?.discard();
      if (isOver(error) || this.#isUnused(error)) await this.#forget();
      else if (sink?.part) await this.#keep({ storedBytes: 0 });
    }
    this.#release();
  }

  /** Refused, or failed, before anything was asked for that may count. */
  #isUnused(error: unknown): boolean {
    return this.#kept?.hasBegun === false && !mayGoOn(error);
  }

  #saveSoon(part: Sink['part']) {
    const activeAtMs = Date.now();
    this.#saving ??= setTimeout(() => {
      this.#saving = undefined;
      void this.#keep({ ...saved(part), activeAtMs });
    }, SAVE_WITHIN_MS);
  }

  /** Before its sink is closed. */
  stopSaving() {
    clearTimeout(this.#saving);
    this.#saving = undefined;
  }

  async #keep(change: Partial<KeptDownload>) {
    if (!this.#kept) return;
    const kept = { ...this.#kept, ...change };
    this.#kept = kept;
    this.#tell();
    await this.#write(() => keepDownload(kept));
  }

  async #forget() {
    const { key } = this.#kept ?? {};
    this.#kept = undefined;
    this.#tell();
    if (key !== undefined) await this.#write(() => forgetDownload(key));
  }

  /** One after the other: what was forgotten must not come back. */
  #write(act: () => Promise<unknown>): Promise<unknown> {
    this.#writing = this.#writing.then(act);
    return Promise.race([this.#writing, new Promise((resolve) => setTimeout(resolve, KEEP_MS))]);
  }

  #tell() {
    this.#task.report({ kind: 'kept', kept: this.#kept });
  }
}

function saved(part: Sink['part']): Partial<KeptDownload> {
  return part ? { storedBytes: part.save() } : {};
}

function newlyKept({ link, downloadLeases, expiresAt }: Leasing): KeptDownload | undefined {
  if (!downloadLeases) return undefined;
  const { id } = typeof link === 'string' ? parseAddress(link) : link;
  const now = Date.now();
  const begun = { hasBegun: false, storedBytes: 0, begunAtMs: now, activeAtMs: now };
  return { key: crypto.randomUUID(), id, lease: newLease(), expiresAt, idleSec: downloadLeases.idleSec, ...begun };
}

async function over({ key }: KeptDownload, { report }: Task): Promise<MayflyError> {
  await forgetDownload(key);
  report({ kind: 'kept', kept: undefined });
  return new MayflyError('download-ended');
}

const ENDED = ['download-ended', 'used-up', 'expired', 'not-found'];
const PASSING = ['aborted', 'network', 'unavailable', 'rate-limited'];

/** Whether what has come so far is good. */
function mayGoOn(error: unknown): boolean {
  return error instanceof MayflyError && PASSING.includes(error.code);
}

/** The service says that it cannot be continued. */
function isOver(error: unknown): boolean {
  return error instanceof MayflyError && ENDED.includes(error.code);
}
