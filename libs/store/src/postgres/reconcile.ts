import { sql } from 'kysely';
import type { UploadReconciliation } from '../reconcile.ts';
import type { Database } from './database.ts';
import { ERASED } from './sweep.ts';
import { inSeconds } from './time.ts';

export function postgresReconciliation(db: Database): UploadReconciliation {
  return {
    async known(ids) {
      const { rows } = await sql<{ id: string }>`
        select id from files.uploads where id = any(${ids}) and state in ('pending', 'available')
        union
        select id from files.blob_deletions where id = any(${ids})`.execute(db);
      return new Set(rows.map(({ id }) => id));
    },

    async available({ after, upTo, before, limit }) {
      let query = db
        .selectFrom('files.uploads')
        .select('id')
        .where('id', '>', after)
        .where('state', '=', 'available')
        .where('created_at', '<', before)
        .orderBy('id')
        .limit(limit);
      if (upTo !== undefined) query = query.where('id', '<=', upTo);
      return (await query.execute()).map(({ id }) => id);
    },

    async noteOrphans(ids) {
      const { numAffectedRows } = await sql`
        insert into files.blob_deletions (id)
        select id from unnest(${ids}::uuid[]) as orphan (id)
        where not exists (
          select from files.uploads u where u.id = orphan.id and u.state in ('pending', 'available')
        )
        on conflict do nothing`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },

    async retireLost(ids, tombstoneTtlSec) {
      const { numAffectedRows } = await sql`
        update files.uploads set state = 'expired', ${ERASED}, due_at = ${inSeconds(tombstoneTtlSec)}
        where id = any(${ids}) and state = 'available'`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}
