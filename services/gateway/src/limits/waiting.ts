/** Most requests of a process that wait, and most for one place: beyond that they are refused. */
const MOST = 2_048;
const MOST_AT_ONE_PLACE = 512;
const LONGEST_MS = 10_000;
/** How often is asked whether another replica has settled an attempt. */
const POLL_MS = 100;

type Waiter<T> = { decide: () => Promise<T | undefined>; leave: (decision: T | undefined) => void; until: number };
type Queue<T> = { waiters: Waiter<T>[]; isServed: boolean; isWoken: boolean; timer: NodeJS.Timeout | undefined };

/** Requests that wait until what others have under way is settled, in the order in which they came. */
export class WaitingRoom<T> {
  readonly #queues = new Map<string, Queue<T>>();
  #size = 0;

  /** What `decide` says as soon as it says anything; undefined when there is no room, or it takes too long. */
  wait(place: string, decide: () => Promise<T | undefined>): Promise<T | undefined> {
    const queue = this.#queues.get(place) ?? { waiters: [], isServed: false, isWoken: false, timer: undefined };
    if (this.#size >= MOST || queue.waiters.length >= MOST_AT_ONE_PLACE) return Promise.resolve(undefined);
    this.#queues.set(place, queue);
    this.#size += 1;
    return new Promise((leave) => {
      queue.waiters.push({ decide, leave, until: performance.now() + LONGEST_MS });
      this.wake(place); // what it waits for may have been settled since it asked
    });
  }

  /** Something was settled here: whoever waits is decided anew. */
  wake(place: string) {
    const queue = this.#queues.get(place);
    if (!queue) return;
    queue.isWoken = true;
    if (!queue.isServed) void this.#serve(place, queue);
  }

  async #serve(place: string, queue: Queue<T>) {
    queue.isServed = true;
    clearTimeout(queue.timer);
    while (queue.isWoken) {
      queue.isWoken = false;
      for (let waiter = queue.waiters[0]; waiter; waiter = queue.waiters[0]) {
        const decision = await waiter.decide();
        if (decision === undefined && performance.now() < waiter.until) break;
        queue.waiters.shift();
        this.#size -= 1;
        waiter.leave(decision);
      }
    }
    queue.isServed = false;
    if (queue.waiters.length === 0) this.#queues.delete(place);
    else queue.timer = setTimeout(() => this.wake(place), POLL_MS);
  }
}
