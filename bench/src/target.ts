import type { Dialect } from './messages.ts';

/** Something that answers HTTP and is measured. */
export type Target = {
  name: string;
  url: string;
  /** What it calls its limits, unless it is Mayfly. */
  dialect?: Dialect;
  /** Processes by name, whose memory and, with their children, time count. Empty when it runs elsewhere. */
  processes: Record<string, number>;
  /** Its stores, whose time counts. */
  stores?: Record<string, number>;
};
