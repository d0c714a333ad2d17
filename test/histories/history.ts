import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Begun, End, Operation } from './checker.ts';

/** After an operation without an answer: nobody asks a thousand times a second of what is away. */
const PAUSE_MS = 200;

/** As the service keeps it. */
const hashOf = (token: string) => createHash('sha256').update(token).digest('hex');

/** What clients asked and were told. */
export class History {
  readonly operations: Operation[] = [];
  /** Labels of items, by the hash of the owner's token: that of an item whose creation was not answered is known, too. */
  readonly labels = new Map<string, string>();
  /** Labels of items whose ids were told. */
  readonly ids = new Map<string, string>();
  #time = 0;

  /** A name for a new item, before anybody is asked to make it. */
  label(kind: string, ownerToken: string): string {
    const label = `${kind} ${this.labels.size + 1}`;
    this.labels.set(hashOf(ownerToken), label);
    return label;
  }

  /** An operation without an answer is unknown. */
  async record(operation: Begun, act: () => Promise<End>): Promise<End> {
    const invoked = this.#tick();
    const end: End = await act().catch(() => ({ outcome: 'unknown' as const }));
    if (end.outcome === 'unknown') await this.pause();
    this.operations.push({ ...operation, invoked, ended: this.#tick(), ...end } as Operation);
    return end;
  }

  pause = () => sleep(PAUSE_MS);

  #tick(): number {
    this.#time += 1;
    return this.#time;
  }
}
