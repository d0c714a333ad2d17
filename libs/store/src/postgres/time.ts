import { type RawBuilder, sql } from 'kysely';

/** So many seconds from now, by the database's clock. */
export function inSeconds(seconds: number): RawBuilder<Date> {
  return sql<Date>`now() + make_interval(secs => ${seconds})`;
}
