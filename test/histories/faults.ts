import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultProxy } from '@mayfly/testing/fault-proxy';
import { type ServiceProcess, untilReady } from '@mayfly/testing/shapes';
import type { SmallDisk } from '@mayfly/testing/small-disk';
import type { Random } from './random.ts';

/** What can be broken: processes and their clocks, the ways to the stores, the disk of payloads. */
export type Breakable = {
  processes: ServiceProcess[];
  ways: Record<string, FaultProxy>;
  disk?: SmallDisk | undefined;
};

/** A disk that nothing of a history fills. */
export const WIDE = 2 ** 30;
/** Seconds that a clock is wrong by: within what S3 accepts, and beyond it. */
const SHIFTS = [-7_200, -600, -5, 5, 600, 7_200, 86_400];

/** Breaks one thing after the other, and mends it, until it is stopped: what, how and for how long is the seed's choice. */
export class Faults {
  /** How often each was done. */
  readonly counts = new Map<string, number>();
  readonly #random: Random;
  readonly #site: Breakable;
  #isOver = false;

  constructor(site: Breakable, random: Random) {
    this.#site = site;
    this.#random = random;
  }

  async go() {
    while (!this.#isOver) {
      await sleep(this.#random.between(100, 800));
      const choice = this.#random.next();
      if (choice < 0.35) await this.#breakProcess();
      else if (choice < 0.5) await this.#shiftClock();
      else if (choice < 0.6) await this.#fillDisk();
      else await this.#breakWay();
    }
  }

  stop() {
    this.#isOver = true;
  }

  async #breakProcess() {
    const random = this.#random;
    const process = random.pick(this.#site.processes);
    if (random.next() < 0.5) {
      this.#count(`kill ${process.name}`);
      const { pid } = process.child;
      await process.stop('SIGKILL');
      process.clock?.forget(pid);
      await sleep(random.between(0, 1_500));
      process.restart();
      await untilReady(process);
    } else {
      this.#count(`freeze ${process.name}`);
      process.child.kill('SIGSTOP');
      await sleep(random.between(200, 5_000));
      process.child.kill('SIGCONT');
    }
  }

  /** While the process runs, and for longer than other faults: it looks at its clock seldom. */
  async #shiftClock() {
    const { name, clock } = this.#random.pick(this.#site.processes);
    const bySec = this.#random.pick(SHIFTS);
    if (!clock) return;
    this.#count(`clock of ${name}`);
    clock.shift(bySec);
    await sleep(this.#random.between(1_500, 5_000));
    clock.shift(0);
  }

  async #fillDisk() {
    const room = this.#random.pick([0, 1_000, 100_000]);
    if (!this.#site.disk) return;
    this.#count('full disk');
    this.#site.disk.leave(room);
    await sleep(this.#random.between(500, 4_000));
    this.#site.disk.leave(WIDE);
  }

  async #breakWay() {
    const random = this.#random;
    const [name, way] = random.pick(Object.entries(this.#site.ways));
    const how = random.pick(['cut', 'silence', 'reset'] as const);
    this.#count(`${how} ${name}`);
    way[how]();
    if (how !== 'reset') await sleep(random.between(100, 4_000));
    way.mend();
  }

  #count(fault: string) {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
  }
}
