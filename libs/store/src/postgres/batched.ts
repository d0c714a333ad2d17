import DataLoader from 'dataloader';

/** Most calls in one statement. */
const MOST_CALLS = 100;
/** Most statements of one kind at once: while they run, further calls gather for the next. */
const MOST_RUNNING = 2;

/**
 * One statement for all calls of one turn of the event loop, and for those that come while such statements run: under load a
 * statement and a commit for each would cost more than everything else in a request. A single call goes at once.
 * `run` answers in the order of the calls; when it fails, all its calls fail.
 */
export function batched<Call, Result>(run: (calls: readonly Call[]) => Promise<Result[]>, { most = MOST_CALLS } = {}) {
  const gathered: (() => void)[] = [];
  let running = 0;
  const loader = new DataLoader<Call, Result>(
    async (calls) => {
      running += 1;
      try {
        return await run(calls);
      } finally {
        running -= 1;
        gathered.shift()?.();
      }
    },
    {
      cache: false, // the same call twice is two calls
      maxBatchSize: most,
      batchScheduleFn: (send) => setImmediate(() => (running < MOST_RUNNING ? send() : gathered.push(send))),
    },
  );
  return (call: Call): Promise<Result> => loader.load(call);
}

/** Look-ups by id as one; ids without a row resolve with undefined. */
export function batchedFind<Row extends { id: string }>(rowsOf: (ids: readonly string[]) => Promise<Row[]>) {
  return batched<string, Row | undefined>(async (ids) => {
    const rows = byId(await rowsOf(ids));
    return ids.map((id) => rows.get(id));
  });
}

/** How many claims of a call's id were granted, and the row's count after them. */
type Granted = { id: string; granted: number; count: number };
export type Claims<Call> = { id: string; calls: Call[] };

/**
 * Claims on counted rows as one: `grant` is told all claims on each id. The first ones get their row with the count that
 * theirs has made it; those above what was granted get undefined.
 */
export function batchedClaims<Call extends { id: string }, Row extends Granted>(
  grant: (claims: Claims<Call>[]) => Promise<Row[]>,
) {
  return batched<Call, Row | undefined>(async (calls) => {
    const claims = new Map<string, Claims<Call>>();
    for (const call of calls) {
      const same = claims.get(call.id);
      if (same) same.calls.push(call);
      else claims.set(call.id, { id: call.id, calls: [call] });
    }
    const rows = byId(await grant([...claims.values()]));
    return calls.map((call) => {
      const row = rows.get(call.id);
      const before = claims.get(call.id)?.calls.indexOf(call) ?? 0;
      return row && before < row.granted ? { ...row, count: row.count - row.granted + before + 1 } : undefined;
    });
  });
}

function byId<Row extends { id: string }>(rows: Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}
