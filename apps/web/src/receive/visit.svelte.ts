import { type DownloadOptions, MayflyError, newLease } from '@mayfly/client';
import type { Place } from '../saving/place.ts';
import { type CallOptions, call } from '../worker/call.ts';
import type { LeasedContent } from '../worker/content-tasks.ts';
import type { FolderDownload } from '../worker/download-to-folder.ts';
import type { OpeningUpload } from './opening-upload.svelte.ts';

/** Contract 11: a lease ends so long after its first range, whatever follows. */
const LONGEST_MS = 24 * 3_600_000;

/** Reading files of an upload one by one: however many are previewed or saved on one visit of a page, they are one download. */
export class Visit {
  /** Undefined where a service has no leases: then there is only the whole. */
  downloadLeases = $state.raw<DownloadOptions['downloadLeases']>();
  /** Whether that is known, or nobody can say. */
  isSettled = $state(false);
  /**
   * Until when, at least, everything else is included in the download that was used; undefined when none was yet. ISO 8601. Each file that
   * travels makes it later, but not each one does: what was read lately is here.
   */
  includedUntil = $state<string>();
  /** What one download includes was used up, by its time or its bytes: the next file is another one. */
  isOver = $state(false);
  readonly #opening: OpeningUpload;
  #lease = newLease();

  constructor(opening: OpeningUpload) {
    this.#opening = opening;
    // Best effort: without an answer there is only the whole.
    call('getConfig', undefined)
      .then(
        ({ downloadLeases }) => {
          this.downloadLeases = downloadLeases;
        },
        () => {},
      )
      .finally(() => {
        this.isSettled = true;
      });
  }

  /** A file of it in memory, or its beginning. */
  read(index: number, mostBytes: number, options: CallOptions): Promise<Blob> {
    return this.#counted(options, (from, counting) => call('readFile', { ...from, index, mostBytes }, counting));
  }

  /** Saves a file of it; all of it where there is no index. The result lies in the browser's storage, if it is there. */
  save(what: { place: Place; index?: number }, options: CallOptions): Promise<{ file: File | Blob | undefined }> {
    return this.#counted(options, (from, counting) => call('saveFile', { ...from, ...what }, counting));
  }

  /** Unpacks all of it into a folder. */
  unpack(folder: FileSystemDirectoryHandle, options: CallOptions): Promise<FolderDownload> {
    return this.#counted(options, (from, counting) => call('unpackFiles', { ...from, folder }, counting));
  }

  async #counted<T>(
    options: CallOptions,
    begin: (from: LeasedContent, options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const { downloadLeases } = this;
    if (!downloadLeases) throw new Error('there is only the whole');
    const startMs = Date.now();
    const count = () => this.#count(startMs, downloadLeases.idleSec);
    let again = () => {};
    const onOnline = () => again();
    addEventListener('online', onOnline);
    try {
      const isContinued = this.includedUntil !== undefined;
      const from = { link: this.#opening.link, lease: this.#lease, downloadLeases, isContinued };
      const result = await begin(from, {
        ...options,
        onStart(tryAgain) {
          again = tryAgain;
          options.onStart?.(tryAgain);
        },
        onEvent(event) {
          if (event.kind === 'progress') count();
          options.onEvent?.(event);
        },
      });
      count();
      return result;
    } catch (error) {
      const { code, status } = error instanceof MayflyError ? error : {};
      if (code === 'tampered') count(); // something came
      if (code === 'download-ended' || status === 410) void this.#end();
      throw error;
    } finally {
      removeEventListener('online', onOnline);
    }
  }

  /** Bytes have come: the service has counted, if these are the first. */
  #count(startMs: number, idleSec: number) {
    const { info } = this.#opening;
    if (!info || this.includedUntil) return;
    this.#opening.info = { ...info, downloadCount: info.downloadCount + 1 };
    this.isOver = false;
    const endsMs = [startMs + idleSec * 1000, startMs + LONGEST_MS, Date.parse(info.expiresAt) + idleSec * 1000];
    this.includedUntil = new Date(Math.min(...endsMs)).toISOString();
  }

  /** How many are left now? What is open stays open meanwhile. */
  async #end() {
    if (this.includedUntil) {
      this.#lease = newLease();
      this.includedUntil = undefined;
      this.isOver = true;
    }
    const { link } = this.#opening;
    try {
      this.#opening.info = (await call('look', { link })) as OpeningUpload['info']; // it is an upload's
    } catch (error) {
      this.#opening.failure = error;
    }
  }
}
