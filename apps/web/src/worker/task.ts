import type { ClientOptions, Created, MayflyClient } from '@mayfly/client';
import type { KeptDownload } from '../saving/kept-downloads.ts';

/** What a task has besides its arguments. Events are for the page that asked. */
export type Task = {
  client: MayflyClient;
  /** What it was made with, for what is loaded later. */
  options: ClientOptions;
  signal: AbortSignal;
  report(event: TaskEvent): void;
  /** Resolves when the page wants the failed step tried again. */
  again(): Promise<void>;
};

export type TaskEvent =
  | { kind: 'progress'; phase: 'encrypting' | 'sending' | 'receiving'; doneBytes: number; totalBytes: number }
  /** An upload in parts is under way, which another page could continue. */
  | { kind: 'begun'; id: string }
  /** Its link may be given away already: whoever opens it can follow the upload. */
  | { kind: 'announced'; created: Created }
  /** What there is of a download that can be continued; undefined when it cannot any more. */
  | { kind: 'kept'; kept: KeptDownload | undefined }
  /** A step failed for a reason that may pass: the task waits, for the page or for a moment. */
  | { kind: 'trouble'; code: string; retryAfterSec: number | undefined }
  /** The same, but the task tries again by itself. */
  | { kind: 'retrying'; code: string }
  /** The service is busy: it works for a place, or not any more. The page says so, whatever the task is. */
  | { kind: 'working'; isWorking: boolean }
  /** It goes on. */
  | { kind: 'resumed' };
