import { type RawBuilder, sql } from 'kysely';
import type { NoticeEvent } from '../notices.ts';
import type { Those } from './distributed.ts';
import type { UseTimes } from './use-times.ts';

/** The tables of notices, by those of their items. */
export const NOTICES = {
  'files.uploads': 'files.notices',
  'files.requests': 'files.request_notices',
  'notes.notes': 'notes.notices',
} as const;
export type Items = keyof typeof NOTICES;

/**
 * A common table expression beside one that counted, of the columns `id` and `hooks`: notes what their hooks are to be told, so many
 * times. What has no hook costs nothing. Decision notices-in-an-outbox.
 */
export function noted(
  items: Items,
  counted: string,
  event: NoticeEvent,
  times: RawBuilder<unknown>,
  { keepsUseTimes = true }: UseTimes,
) {
  const kinds = event !== 'whole' ? sql`true` : sql`hook.key = 'webhook'`;
  return sql`noted as (
    insert into ${sql.table(NOTICES[items])} (item_id, kind, host, event, at)
    select c.id, hook.key, hook.value ->> 'host', ${sql.lit(event)}, ${keepsUseTimes ? sql`date_trunc('minute', now())` : sql`null`}
    from ${sql.table(counted)} c cross join lateral jsonb_each(c.hooks) as hook cross join lateral generate_series(1, ${times})
    where ${kinds}
  )`;
}

/** One beside `gone`, of rows that were removed: nothing of them is told any more. */
export function unnoted(items: Items, those: Those) {
  return sql`unnoted as (
    delete from ${sql.table(NOTICES[items])} n using gone
    where gone.hooks is not null and n.item_id = gone.id and ${those('n.item_id')}
  )`;
}
