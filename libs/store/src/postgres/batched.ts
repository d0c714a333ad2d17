import { Unavailable } from '@mayfly/shared/errors';
import DataLoader from 'dataloader';
import type { Database } from './database.ts';
import { oneIdEach, type Run } from './distributed.ts';
import { wasUndone } from './errors.ts';
import { observeWaits } from './observe-pool.ts';

/** Most calls in one statement. */
const MOST_CALLS = 100;
/** Most statements of one kind at once: while they run, further calls gather for the next. */
const MOST_RUNNING = 2;
/** Whoever has waited so long for a statement to begin is told to come again. */
const LONGEST_WAIT_MS = 10_000;

const waited = observeWaits('batch');

export type BatchOptions = { most?: number };

type Waiting<Call> = { call: Call; until: number };

/**
 * One statement for all calls of one turn of the event loop, and for those that come while such statements run: under load a
 * statement and a commit for each would cost more than everything else in a request. A single call goes at once.
 * When the server says that it has undone a statement, its calls are tried again one by one: only those at fault fail.
 * After a lost connection or a time-out all fail, since the statement may have been committed.
 */
export function batched<Call, Result>(run: Run<Call, Result>, { most = MOST_CALLS }: BatchOptions = {}) {
  const alone = gathered(run, 1, async (_, error) => {
    throw error;
  });
  const together = gathered(run, most, async (waiting, error) => {
    if (waiting.length === 1 || !wasUndone(error)) throw error;
    return Promise.all(waiting.map((one) => alone(one).catch((reason: unknown) => reason as Error)));
  });
  return (call: Call): Promise<Result> => together({ call, until: performance.now() + LONGEST_WAIT_MS });
}

/** `onFailure` may still find an answer, or an error for each call. */
function gathered<Call, Result>(
  run: Run<Call, Result>,
  most: number,
  onFailure: (waiting: Waiting<Call>[], error: unknown) => Promise<(Result | Error)[]>,
) {
  const senders: (() => void)[] = [];
  let running = 0;
  const send = async (waiting: Waiting<Call>[]): Promise<(Result | Error)[]> => {
    running += 1;
    try {
      return waiting.length > 0 ? await run(waiting.map(({ call }) => call)) : [];
    } finally {
      running -= 1;
      senders.shift()?.();
    }
  };
  const loader = new DataLoader<Waiting<Call>, Result>(
    async (all) => {
      const now = performance.now();
      waited(Math.min(...all.map(({ until }) => until)) - LONGEST_WAIT_MS);
      const waiting = all.filter(({ until }) => until > now);
      const answers = await send(waiting).catch((error: unknown) => onFailure(waiting, error));
      return all.map((one) => (one.until > now ? (answers.shift() as Result | Error) : tooLate()));
    },
    {
      cache: false, // the same call twice is two calls
      maxBatchSize: most,
      batchScheduleFn: (go) => setImmediate(() => (running < MOST_RUNNING ? go() : senders.push(go))),
    },
  );
  return (one: Waiting<Call>): Promise<Result> => loader.load(one);
}

const tooLate = () =>
  new Unavailable('PostgreSQL is not available', { cause: new Error('no statement began in time') });

/** Look-ups by id as one; ids without a row resolve with undefined. */
export function batchedFind<Row extends { id: string }>(rowsOf: (ids: readonly string[]) => Promise<Row[]>) {
  return batched<string, Row | undefined>(async (ids) => {
    const rows = new Map((await rowsOf(ids)).map((row) => [row.id, row]));
    return ids.map((id) => rows.get(id));
  });
}

/** How many claims of a kind were granted, and the row's count after them. */
type Granted = { id: string; granted: number; count: number };
export type Claims<Call> = { id: string; calls: Call[] };

/**
 * Claims of downloads or views as one: `grant` is told all claims of each kind. The first ones get their row with the count
 * that theirs has made it; those above what was granted get undefined. `keyOf` says of what kind a call, or a row, is: the id
 * unless something else was asked, too.
 */
export function batchedClaims<Call extends { id: string }, Row extends Granted>(
  db: Database,
  grant: (claims: Claims<Call>[]) => Promise<Row[]>,
  { keyOf = ({ id }) => id, ...options }: BatchOptions & { keyOf?: (one: Call | Row) => string } = {},
) {
  const run = oneIdEach<Call, Row | undefined>(db, async (calls) => {
    const claims = new Map<string, Claims<Call>>();
    for (const call of calls) {
      const key = keyOf(call);
      const same = claims.get(key);
      if (same) same.calls.push(call);
      else claims.set(key, { id: call.id, calls: [call] });
    }
    const rows = new Map((await grant([...claims.values()])).map((row) => [keyOf(row), row]));
    return calls.map((call) => {
      const key = keyOf(call);
      const row = rows.get(key);
      const before = claims.get(key)?.calls.indexOf(call) ?? 0;
      return row && before < row.granted ? { ...row, count: row.count - row.granted + before + 1 } : undefined;
    });
  });
  return batched(run, options);
}
