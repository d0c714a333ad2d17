import { MayflyError, type ServiceConfig } from '@mayfly/client';
import { forgetDownload, holdDownload, type KeptDownload } from '../saving/kept-downloads.ts';
import { removeFile } from '../saving/leftovers.ts';
import { type ChosenPlace, chooseFolder, choosePlace, saveBlob } from '../saving/place.ts';
import { type CallOptions, call } from '../worker/call.ts';
import type { FolderDownload } from '../worker/download-to-folder.ts';
import type { Leasing } from '../worker/leased-download.ts';
import type { TaskEvent } from '../worker/task.ts';
import type { OpeningUpload } from './opening-upload.svelte.ts';
import type { Visit } from './visit.svelte.ts';

/** What a page is downloading, and what came of it. */
export class Reception {
  step = $state<'ready' | 'busy' | 'done'>('ready');
  event = $state.raw<Extract<TaskEvent, { kind: 'progress' }>>();
  /** Why it waits, as long as it does. It goes on by itself. */
  trouble = $state<string>();
  failure = $state.raw<unknown>();
  stored = $state.raw<Blob>();
  unpacked = $state.raw<FolderDownload>();
  readonly #opening: OpeningUpload;
  /** Under its lease everything else is read, once a file was. */
  readonly #visit: Visit;
  #controller = new AbortController();
  #again = () => {};
  #config: Promise<ServiceConfig> | undefined;

  constructor(opening: OpeningUpload, visit: Visit) {
    this.#opening = opening;
    this.#visit = visit;
  }

  /** What can be continued of it, also by another page. */
  get kept(): KeptDownload | undefined {
    return this.#opening.kept;
  }

  get isStopped(): boolean {
    return this.failure instanceof MayflyError && this.failure.code === 'aborted';
  }

  /** To be called by a click. */
  async save(file: { name: string; size: number }) {
    const begun = this.#begin();
    const chosen = this.kept?.storedBytes ? IN_STORAGE : await choosePlace(file);
    if (!chosen) return; // the question where to save was closed
    const { place, transfer, release } = chosen;
    await this.#run(begun, async (leasing, options) => {
      const saving = { ...options, transfer };
      const saved = this.#visit.includedUntil
        ? this.#visit.save({ place }, saving)
        : call('download', { ...leasing, place }, saving);
      this.stored = (await saved).file;
      if (this.stored) saveBlob(this.stored, file.name);
    });
    release();
  }

  /** The same, as the files that are in an archive. */
  async unpack() {
    const begun = this.#begin();
    const folder = await chooseFolder();
    if (!folder) return; // the question where to save was closed
    await this.#run(begun, async (leasing, options) => {
      const unpacked = this.#visit.includedUntil
        ? this.#visit.unpack(folder, options)
        : call('downloadToFolder', { ...leasing, folder }, options);
      this.unpacked = await unpacked;
    });
  }

  /** Gives up what could be continued. */
  async discard() {
    const { kept } = this;
    const release = kept && (await holdDownload(kept.key));
    if (kept && release) {
      await call('endDownload', { link: this.#opening.link, lease: kept.lease });
      await removeFile(kept.key);
      await forgetDownload(kept.key);
      release();
      this.#opening.kept = this.failure = undefined;
    }
    await this.#opening.look();
  }

  stop() {
    this.#controller.abort();
  }

  again() {
    this.#again();
  }

  /** It is asked for while the person is asked for a place. */
  #begin(): Promise<ServiceConfig> {
    this.failure = this.event = this.trouble = this.stored = this.unpacked = undefined;
    this.#config ??= call('getConfig', undefined);
    this.#config.catch(() => {
      this.#config = undefined; // the next download asks again
    });
    return this.#config;
  }

  async #run(begun: Promise<ServiceConfig>, act: (leasing: Leasing, options: CallOptions) => Promise<void>) {
    this.step = 'busy';
    this.#controller = new AbortController();
    const { kept } = this;
    try {
      const { downloadLeases } = await begun;
      const onStart = (again: () => void) => {
        this.#again = again;
      };
      const options = { signal: this.#controller.signal, onEvent: (event: TaskEvent) => this.#hear(event), onStart };
      const { link, info } = this.#opening;
      await act({ link, expiresAt: info?.expiresAt ?? '', downloadLeases, kept }, options);
      this.step = 'done';
    } catch (error) {
      this.failure = error;
      void this.#opening.look(); // how many are left now
      this.step = 'ready';
    }
  }

  #hear(event: TaskEvent) {
    if (event.kind === 'kept') this.#opening.kept = event.kept;
    if (event.kind === 'retrying') this.trouble = event.code;
    if (event.kind !== 'progress') return;
    this.event = event;
    this.trouble = undefined;
  }
}

const IN_STORAGE: ChosenPlace = { place: { kind: 'storage' }, transfer: [], release: () => {} };
