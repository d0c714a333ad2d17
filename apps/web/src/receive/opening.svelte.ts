import type { Link, Metadata, NoteInfo, UploadInfo } from '@mayfly/client';
import { whyGone } from '../reports/why-gone.ts';
import { call } from '../worker/call.ts';

type Info = (UploadInfo & { metadata?: Metadata }) | NoteInfo;

/** What a page behind a link knows so far. Nothing here spends anything. */
export class Opening<I extends Info> {
  /** The address of the page, until a password has unlocked it. */
  link = $state.raw<string | Link>(location.href);
  info = $state.raw<I>();
  failure = $state.raw<unknown>();
  /** What is known may be out of date. */
  isAsking = $state(false);
  readonly hasKey = location.hash.length > 1;

  get isLocked(): boolean {
    return this.info?.hasPassword === true && typeof this.link === 'string';
  }

  async look() {
    this.failure = undefined;
    this.isAsking = true;
    try {
      this.info = await this.ask();
    } catch (error) {
      this.failure = await whyGone(error);
    } finally {
      this.isAsking = false;
    }
  }

  protected async ask(): Promise<I> {
    return (await call('look', { link: this.link })) as I; // the path says which of the two it is
  }

  unlocked = (link: Link) => {
    this.link = link;
    void this.look();
  };
}
