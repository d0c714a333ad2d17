import type { MayflyError } from '@mayfly/client';
import type { TaskEvent } from './task.ts';
import type { TaskName } from './tasks.ts';

/** From the page to the worker; `id` is the call's. */
export type ToWorker =
  | { id: number; start: TaskName; args: unknown; baseUrl: string; createKey: string }
  | { id: number; say: 'abort' | 'again' };

/** From the worker to the page. */
export type FromWorker =
  | { id: number; event: TaskEvent }
  | { id: number; result: unknown }
  | { id: number; error: Pick<MayflyError, 'code' | 'status' | 'retryAfterSec' | 'repeatForSec'> }
  /** The disk, or what the site may keep, is full. */
  | { id: number; noRoom: true }
  /** Something that nobody foresaw. */
  | { id: number; fault: string };
