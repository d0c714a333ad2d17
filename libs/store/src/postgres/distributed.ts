import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

// Where the tables are spread over several servers by the ids of their items (Citus), a statement that changes or locks rows
// names one id: rows of several may be on several servers, which lock nothing together. Decision one-id-a-statement.

const known = new WeakMap<Database, Promise<boolean>>();

/** Whether this database is such a one. Asked once. */
export function isDistributed(db: Database): Promise<boolean> {
  let answer = known.get(db);
  if (!answer) {
    answer = sql<{ is_there: boolean }>`select to_regclass('pg_dist_partition') is not null as is_there`
      .execute(db)
      .then(({ rows }) => rows[0]?.is_there === true);
    known.set(db, answer);
    answer.catch(() => known.delete(db));
  }
  return answer;
}

/** The condition that a column has the id of one of those that a statement is about, which every table in it needs. */
export type Those = (column: string) => RawBuilder<boolean>;

export const those =
  (ids: readonly string[]): Those =>
  (column) =>
    sql`${sql.ref(column)} = any(${ids}::uuid[])`;

/** Whatever the rest of a condition finds. */
export const ANY: Those = () => sql`true`;

type Named = string | { id: string };
const idOf = (call: Named) => (typeof call === 'string' ? call : call.id);

/** Answers in the order of the calls; an Error in the place of a call fails that one. */
export type Run<Call, Result> = (calls: readonly Call[]) => Promise<(Result | Error)[]>;

/** Runs calls together, or there those of each id by themselves: what becomes of one id is nothing to the others. */
export function oneIdEach<Call extends Named, Result>(db: Database, run: Run<Call, Result>): Run<Call, Result> {
  return async (calls) => {
    if (calls.length === 1 || !(await isDistributed(db))) return run(calls);
    const groups = [...Map.groupBy(calls, idOf).values()];
    const answers = await Promise.all(
      groups.map((group) => run(group).catch((error: unknown) => group.map(() => error as Error))),
    );
    const ofId = new Map(groups.map(([first], at) => [idOf(first as Call), answers[at]?.values()]));
    return calls.map((call) => ofId.get(idOf(call))?.next().value as Result | Error);
  };
}

/** How many statements for one id each run at once. */
const SIDE_BY_SIDE = 4;

/** A statement about all of these ids, or there one for each. */
export async function apart<Result>(
  db: Database,
  ids: readonly string[],
  run: (those: Those) => Promise<Result>,
): Promise<Result[]> {
  if (ids.length < 2 || !(await isDistributed(db))) return [await run(those(ids))];
  const left = ids.values();
  const results: Result[] = [];
  const lane = async () => {
    for (const id of left) results.push(await run(those([id])));
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  return results;
}

/** One about whatever its own condition finds, or there one for each id that `find` has found: another may have been quicker. */
export async function foundApart<Result>(
  db: Database,
  find: () => Promise<string[]>,
  run: (those: Those) => Promise<Result>,
): Promise<Result[]> {
  if (!(await isDistributed(db))) return [await run(ANY)];
  const ids = await find();
  return ids.length > 0 ? apart(db, ids, run) : [];
}

/** Those of a table in these states whose time has come. */
export async function dueIds(
  db: Database,
  table: 'files.uploads' | 'files.requests' | 'notes.notes',
  states: string[],
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where state = any(${states}) and due_at <= now() limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}

export const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
