import { type RawBuilder, sql } from 'kysely';

/**
 * So many seconds from now, by the database's clock; a column may say how many. Nothing in it is more than the moment of the statement and
 * a sum: a time and an interval cannot be added where the rows are on other servers. Decision one-id-a-statement.
 */
export function inSeconds(seconds: number | RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`to_timestamp((extract(epoch from now()) + ${seconds})::float8)`;
}
