import type { MayflyClient } from '@mayfly/client';

/** What a task has besides its arguments. Events are for the page that asked. */
export type Task = {
  client: MayflyClient;
  signal: AbortSignal;
  report(event: TaskEvent): void;
  /** Resolves when the page wants the failed step tried again. */
  again(): Promise<void>;
};

export type TaskEvent =
  | { kind: 'progress'; phase: 'encrypting' | 'sending' | 'receiving'; doneBytes: number; totalBytes: number }
  /** A step failed for a reason that may pass: the task waits, for the page or for a moment. */
  | { kind: 'trouble'; code: string; retryAfterSec: number | undefined }
  /** It goes on. */
  | { kind: 'resumed' };
