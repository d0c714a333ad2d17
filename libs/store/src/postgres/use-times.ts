import { type RawBuilder, sql } from 'kysely';

/** Whether the times of uses are kept, to the minute. */
export type UseTimes = { keepsUseTimes?: boolean | undefined };

/** What `used_at` of a row becomes with so many uses now. Decision owner-control. */
export function usedNow(row: string, count: RawBuilder<unknown>, { keepsUseTimes = true }: UseTimes) {
  const before = sql.ref(`${row}.used_at`);
  return keepsUseTimes
    ? sql<Date[]>`${before} || array_fill(date_trunc('minute', now())::timestamptz(0), array[${count}])`
    : before;
}

/** The same when so many are given back: nobody knows which they were. */
export function unused(row: string, count: RawBuilder<unknown>) {
  const before = sql.ref(`${row}.used_at`);
  return sql<Date[]>`trim_array(${before}, least(${count}, cardinality(${before})))`;
}
