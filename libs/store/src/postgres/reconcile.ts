import { type RawBuilder, sql } from 'kysely';
import type { UploadReconciliation } from '../reconcile.ts';
import type { Database } from './database.ts';
import { apart, sum, type Those } from './distributed.ts';

export function postgresReconciliation(db: Database): UploadReconciliation {
  const changed = async (ids: string[], change: (are: Those) => RawBuilder<unknown>) => {
    const results = await apart(db, ids, (are) => change(are).execute(db));
    return sum(results.map(({ numAffectedRows }) => Number(numAffectedRows ?? 0n)));
  };
  return {
    async known(ids) {
      const { rows } = await sql<{ id: string }>`
        select id from files.uploads where id = any(${ids}) and state in ('pending', 'available')
        union
        select id from files.blob_deletions where id = any(${ids})`.execute(db);
      return new Set(rows.map(({ id }) => id));
    },

    async arriving(ids) {
      const { rows } = await sql<{ id: string }>`
        select s.id from files.upload_sessions s join files.uploads u on u.id = s.id
        where s.id = any(${ids}::uuid[])`.execute(db);
      return new Set(rows.map(({ id }) => id));
    },

    async available({ after, upTo, before, limit }) {
      let query = db
        .selectFrom('files.uploads')
        .select(['id', 'lost_at'])
        .where('id', '>', after)
        .where('state', '=', 'available')
        .where('created_at', '<', before)
        .orderBy('id')
        .limit(limit);
      if (upTo !== undefined) query = query.where('id', '<=', upTo);
      return (await query.execute()).map(({ id, lost_at: lostAt }) => ({ id, isLost: lostAt !== null }));
    },

    async recordOrphans(ids) {
      const { numAffectedRows } = await sql`
        insert into files.blob_deletions (id)
        select id from unnest(${ids}::uuid[]) as orphan (id)
        where id <> all (select u.id from files.uploads u where u.id = any(${ids}::uuid[]) and u.state in ('pending', 'available'))
        on conflict do nothing`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },

    async markLost(ids) {
      return changed(
        ids,
        (are) => sql`
        update files.uploads set lost_at = now() where ${are('id')} and state = 'available' and lost_at is null`,
      );
    },

    async markFound(ids) {
      return changed(
        ids,
        (are) => sql`
        update files.uploads set lost_at = null where ${are('id')} and lost_at is not null`,
      );
    },
  };
}
