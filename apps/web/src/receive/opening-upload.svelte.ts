import { type Arrival, type Metadata, parseAddress, type UploadInfo } from '@mayfly/client';
import { mayPass, problemOf } from '../languages/problem.ts';
import { findKept, forgetDownload, type KeptDownload } from '../saving/kept-downloads.ts';
import { call } from '../worker/call.ts';
import { Opening } from './opening.svelte.ts';
import { FIRST_PAUSE_MS, nextPauseMs, pause } from './pause.ts';

type Info = UploadInfo & { metadata?: Metadata };

/** What the service says of an upload that nobody can begin to download any more, and of a lease that has ended. */
const GONE = ['expired', 'used-up'];
const ENDED = [...GONE, 'not-found', 'download-ended'];

/**
 * An upload may be opened while it is still being sent: the page then waits until it is complete. And a download that was
 * interrupted may be continued, whatever has become of the upload.
 */
export class OpeningUpload extends Opening<Info> {
  /** How far it is, as long as it is on its way. */
  arrival = $state.raw<Arrival>();
  /** Why nobody can say at the moment how far it is. It is asked again. */
  trouble = $state<string>();
  /** It was on its way, and never became complete. */
  hasEnded = $state(false);
  /** A download that was interrupted. */
  kept = $state.raw<KeptDownload>();
  /** Another page of this browser downloads it. */
  isElsewhere = $state(false);
  /** Nobody can begin to download it any more. */
  isGone = $state(false);

  /** Downloads that are left; undefined when nobody can say at the moment. */
  get left(): number | undefined {
    if (this.isAsking || !this.info) return undefined;
    if (this.isGone) return 0;
    return this.failure ? undefined : this.info.maxDownloads - this.info.downloadCount;
  }

  /** It was counted, or all are. */
  get mayContinue(): boolean {
    return this.kept !== undefined && (this.kept.hasBegun || this.isGone);
  }

  protected override async ask(): Promise<Info> {
    const { id } = typeof this.link === 'string' ? parseAddress(this.link) : this.link;
    const { kept, isElsewhere } = await findKept(id);
    // Without storage it is known to this page alone.
    this.kept = kept ?? (isElsewhere ? undefined : this.kept);
    this.isElsewhere = isElsewhere;
    const info = this.kept?.hasBegun ? await this.#askUnderLease() : undefined;
    return info ?? this.#askService();
  }

  /** The service tells whoever has a lease what it tells nobody else any more. Undefined when it has ended. */
  async #askUnderLease(): Promise<Info | undefined> {
    const { kept } = this;
    if (!kept) return undefined;
    try {
      return (await call('look', { link: this.link, lease: kept.lease })) as Info; // it is an upload's
    } catch (error) {
      if (!ENDED.includes(problemOf(error).code)) throw error;
      this.kept = undefined;
      await forgetDownload(kept.key);
      return undefined;
    }
  }

  async #askService(): Promise<Info> {
    this.isGone = false;
    try {
      return await super.ask();
    } catch (error) {
      const { code } = problemOf(error);
      this.isGone = GONE.includes(code);
      // The one that was interrupted before anybody knew may be what was counted.
      const info = this.isGone && (await this.#askUnderLease());
      if (info) return info;
      if (code !== 'not-found') throw error;
    }
    return this.#askUntilComplete();
  }

  async #askUntilComplete(): Promise<Info> {
    for (let pauseMs = FIRST_PAUSE_MS; ; ) {
      try {
        const arrival = await call('getArrival', { link: this.link });
        // Asked in this order: what is not on its way any more may have become complete just now.
        if (!arrival) return await this.#askAtTheEnd();
        this.arrival = arrival;
        this.trouble = undefined;
      } catch (error) {
        if (!this.arrival || !mayPass(error)) throw error;
        this.trouble = problemOf(error).code;
      }
      pauseMs = (await pause(pauseMs)) ? FIRST_PAUSE_MS : nextPauseMs(pauseMs);
    }
  }

  async #askAtTheEnd(): Promise<Info> {
    try {
      const info = await super.ask();
      this.arrival = undefined;
      return info;
    } catch (error) {
      this.hasEnded = this.arrival !== undefined && problemOf(error).code === 'not-found';
      throw error;
    }
  }
}
