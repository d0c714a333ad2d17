/** A request that was sent and has no answer yet. */
export type Waiting = {
  /** The watch's own: when it was sent, and its place in the list; -1 when it is in none. */
  since: number;
  place: number;
  /** Asks another replica instead. False where that is not allowed, or nobody is there to ask. */
  moveOn(): boolean;
  /** Ends it, unless it may rightly take hours. */
  giveUp(): void;
};

export type Watch = ReturnType<typeof openWatch>;

const TICK_MS = 250;
const ticks = (seconds: number) => (seconds * 1_000) / TICK_MS;

const SILENCE = ticks(1);
const LONGEST_WAIT = ticks(10);
const FIRST_PAUSE = ticks(1);
const LONGEST_PAUSE = ticks(10);
const FAULTS_IN_A_ROW = 3;

/**
 * Finds out by a replica's requests whether it answers. After a second in which something waited and nothing was answered it
 * is in doubt and is asked whether it is alive; without an answer to that, or after three faults in a row, it is out: its
 * requests move on where they may, or end after ten seconds. Then it is asked again after 1, 2, 4, 8, 10, 10, ... seconds. Any answer
 * clears it. Decision silent-replica-left-out.
 *
 * Time is counted in ticks: while this process itself stood still, nobody else was late.
 */
export function openWatch(deps: {
  /** Answers in time, and never rejects. */
  isAlive: () => Promise<boolean>;
  onOut: (cause: Error) => void;
  onBack: () => void;
}) {
  const waiting: Waiting[] = []; // a Map's outgrown tables would keep requests that are over alive for the collector
  let state: 'fit' | 'doubted' | 'out' = 'fit';
  let now = 0;
  let silentSince: number | undefined;
  let faults = 0;
  let pause = FIRST_PAUSE;
  let askAt = 0;
  let isAsking = false;
  const timer = setInterval(tick, TICK_MS).unref();

  function tick() {
    now += 1;
    if (state === 'fit' && silentSince !== undefined && now - silentSince >= SILENCE) {
      state = 'doubted';
      void ask();
    }
    if (state !== 'out') return;
    if (now >= askAt) void ask();
    for (const request of [...waiting]) {
      if (!request.moveOn() && now - request.since >= LONGEST_WAIT) request.giveUp();
    }
  }

  async function ask() {
    if (isAsking) return;
    isAsking = true;
    const isAlive = await deps.isAlive();
    isAsking = false;
    if (isAlive) alive();
    else if (state === 'doubted') out(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' }));
    else if (state === 'out') {
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      askAt = now + pause;
    }
  }

  function alive() {
    faults = 0;
    silentSince = waiting.length > 0 ? now : undefined;
    const wasOut = state === 'out';
    state = 'fit';
    if (wasOut) deps.onBack();
  }

  function out(cause: Error) {
    if (state === 'out') return;
    state = 'out';
    askAt = now + pause;
    deps.onOut(cause);
    for (const request of [...waiting]) request.moveOn();
  }

  function remove(request: Waiting) {
    if (request.place === -1) return;
    const last = waiting.pop();
    if (last && last !== request) {
      waiting[request.place] = last;
      last.place = request.place;
    }
    request.place = -1;
  }

  return {
    /** Whether it should get requests while another one can. */
    isFit: () => state === 'fit',
    isOut: () => state === 'out',
    sent(request: Waiting) {
      request.since = now;
      request.place = waiting.push(request) - 1;
      silentSince ??= now;
    },
    answered(request: Waiting) {
      remove(request);
      pause = FIRST_PAUSE; // what only answers probes keeps its longer pauses
      alive();
    },
    /** Nobody waits for its answer any more; that says nothing about the replica. */
    ended(request: Waiting) {
      remove(request);
    },
    /** It broke off, or let its time run out. */
    failed(request: Waiting, cause: Error) {
      remove(request);
      faults += 1;
      if (faults >= FAULTS_IN_A_ROW) out(cause);
    },
    /** There was not even a connection. */
    unreached(request: Waiting, cause: Error) {
      remove(request);
      out(cause);
    },
    close: () => clearInterval(timer),
  };
}
