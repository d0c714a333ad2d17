import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultProxy } from '@mayfly/testing/fault-proxy';
import { type ServiceProcess, untilReady } from '@mayfly/testing/shapes';
import type { Random } from './random.ts';

/** What can be broken: processes, and the ways to the stores. */
export type Breakable = { processes: ServiceProcess[]; ways: Record<string, FaultProxy> };

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
      await (this.#random.next() < 0.4 ? this.#breakProcess() : this.#breakWay());
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
      await process.stop('SIGKILL');
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
