import { NoRoom } from '@mayfly/shared/errors';
import { sql } from 'kysely';
import { type NewNote, type Notes, SMALL_LENGTH, type View } from '../notes.ts';
import { onceDone } from '../once-done.ts';
import { batched, batchedClaims, type Claims } from './batched.ts';
import { checkColumns } from './columns.ts';
import type { Database } from './database.ts';
import { oneIdEach, those } from './distributed.ts';
import { noteFinder, status } from './find-note.ts';
import { noted, unnoted } from './noted.ts';
import { contentEraser, isSmallAndOf, keyedViews } from './repeated-views.ts';
import { countStored, NOTES, returned, withinCeiling } from './storage.ts';
import { inSeconds } from './time.ts';
import { type UseTimes, usedNow } from './use-times.ts';

const ALONE = { most: 1 };

type ClaimedViews = Omit<View, 'viewCount'> & {
  id: string;
  authHash: Buffer;
  granted: number;
  count: number;
  keptMs: number | null;
};
/** Views of one note. Those that bring a token's hash get it only when it is the note's, and small. */
type ClaimOfView = { id: string; authHash?: Buffer };

/** `maxBytes`: what the contents of all notes together may hold, as base64; no ceiling without it. */
export function postgresNotes(
  db: Database,
  { maxBytes, ...useTimes }: { maxBytes?: number | undefined } & UseTimes = {},
): Notes {
  /** With a ceiling, nothing is added before what is there already has been counted. */
  const whatIsStored = onceDone(() => countStored(db, NOTES));
  const add = async (all: readonly NewNote[]): Promise<({ expiresAt: Date } | NoRoom)[]> => {
    if (maxBytes !== undefined) await whatIsStored();
    const fresh = sql`
        select *, octet_length(encrypted_content) as bytes, ${inSeconds(sql`expire_sec`)} as expires_at
        from unnest(
          ${all.map(({ id }) => id)}::uuid[],
          ${all.map(({ ownerHash }) => ownerHash)}::bytea[],
          ${all.map(({ authHash }) => authHash)}::bytea[],
          ${all.map(({ salt }) => salt)}::text[],
          ${all.map(({ contentType }) => contentType)}::text[],
          ${all.map(({ password }) => password?.algo ?? null)}::text[],
          ${all.map(({ password }) => password?.salt ?? null)}::text[],
          ${all.map(({ encryptedContent }) => encryptedContent)}::text[],
          ${all.map(({ nonce }) => nonce)}::text[],
          ${all.map(({ maxViews }) => maxViews)}::int[],
          ${all.map(({ expireSec }) => expireSec)}::int[]
        ) as given (id, owner_hash, auth_hash, salt, content_type, password_algo, password_salt, encrypted_content, nonce,
          max_views, expire_sec)`;
    const wanted = all.map(({ encryptedContent }) => encryptedContent.length);
    const creation = { counter: NOTES.counter, maxBytes, wanted, fresh };
    const rows = await withinCeiling(creation, async (admitted) => {
      const inserted = await sql<{ id: string; expiresAt: Date }>`
      with ${admitted}
      insert into notes.notes (id, state, owner_hash, auth_hash, salt, content_type, has_password, password_algo,
        password_salt, encrypted_content, nonce, max_views, created_at, expires_at, due_at, held_bytes)
      select id, 'available', owner_hash, auth_hash, salt, content_type, password_algo is not null, password_algo,
        password_salt, encrypted_content, nonce, max_views, now(), expires_at, expires_at, held_bytes
      from admitted returning id, expires_at as "expiresAt"`.execute(db);
      return inserted.rows;
    });
    const added = new Map(rows.map(({ id, expiresAt }) => [id, { expiresAt }]));
    return all.map(({ id }) => added.get(id) ?? new NoRoom('NOTES_MAX_BYTES is reached'));
  };
  const addSmall = batched(oneIdEach(db, add));
  const addLarge = batched(add, ALONE);

  const eraseLater = contentEraser(db);
  const claimKeyed = keyedViews(db, eraseLater, useTimes);
  const claimKeyedAlone = keyedViews(db, eraseLater, useTimes, ALONE);
  const claimViews = async (claims: Claims<ClaimOfView>[], isAsked: boolean): Promise<ClaimedViews[]> => {
    const ids = claims.map(({ id }) => id);
    const hashes = claims.map(({ calls }) => calls[0]?.authHash ?? null);
    // Rows are locked before they are read, so that the content that is erased is the content that is returned, and in the
    // order of their ids: so do all replicas, and nobody waits in a circle.
    const { rows } = await sql<ClaimedViews>`
      with locked as materialized (
        select id, auth_hash, encrypted_content, nonce, max_views - view_count as unused, due_at, repeatable_until from notes.notes
        where ${those(ids)('id')} and ${status} = 'available' and ${isAsked ? isSmallAndOf(hashes) : sql`true`}
        order by id for update
      ), claimed as materialized (
        select n.id, n.encrypted_content, n.nonce, least(wanted.count, unused) as granted,
          -- With the last view it goes, unless a view with a key can still be repeated.
          wanted.count < unused or n.repeatable_until > now() as stays,
          case when wanted.count < unused then n.due_at else greatest(now(), n.repeatable_until) end as due_at,
          case when wanted.count >= unused and n.repeatable_until > now()
            then ceil(extract(epoch from n.repeatable_until - now()) * 1000)::int end as kept_ms
        from locked n join unnest(
          ${ids}::uuid[],
          ${claims.map(({ calls }) => calls.length)}::int[],
          ${hashes}::bytea[]
        ) as wanted (id, count, auth_hash) on wanted.id = n.id and coalesce(wanted.auth_hash = n.auth_hash, true)
      ), counted as (
        update notes.notes n set
          view_count = n.view_count + granted,
          used_at = ${usedNow('n', sql`granted`, useTimes)},
          encrypted_content = case when stays then n.encrypted_content end,
          nonce = case when stays then n.nonce end,
          recent_views = case when stays then n.recent_views end,
          due_at = claimed.due_at
        from claimed where n.id = claimed.id and ${those(ids)('n.id')}
        returning n.id, n.auth_hash as "authHash", granted, n.view_count as count, n.max_views as "maxViews",
          claimed.encrypted_content as "encryptedContent", claimed.nonce, n.hooks, kept_ms as "keptMs"
      ), ${noted('notes.notes', 'counted', 'used', sql`c.granted`, useTimes)}
      select id, "authHash", granted, count, "maxViews", "encryptedContent", nonce, "keptMs" from counted`.execute(db);
    for (const { id, keptMs } of rows) if (keptMs !== null) eraseLater(id, keptMs);
    return rows;
  };
  const claimWithToken = batchedClaims<Required<ClaimOfView>, ClaimedViews>(db, (claims) => claimViews(claims, true), {
    keyOf: ({ id, authHash }) => id + authHash.toString('latin1'),
  });
  const claimAlone = batchedClaims(db, (claims: Claims<ClaimOfView>[]) => claimViews(claims, false), ALONE);

  return {
    add: (note) => (note.encryptedContent.length <= SMALL_LENGTH ? addSmall(note) : addLarge(note)),

    find: noteFinder(db),

    async claimSmallView(id, authHash, repeat) {
      return repeat ? claimKeyed(id, repeat, authHash) : toView(await claimWithToken({ id, authHash }));
    },

    async claimView(id, repeat) {
      return repeat ? claimKeyedAlone(id, repeat) : toView(await claimAlone({ id }));
    },

    async remove(id) {
      const { rows } = await sql`
        with gone as (delete from notes.notes where id = ${id} returning id, held_bytes, hooks), ${returned(NOTES.counter)},
          ${unnoted('notes.notes', those([id]))}
        select id from gone`.execute(db);
      return rows.length > 0;
    },

    async check() {
      await checkColumns(db, 'notes');
    },
  };
}

const toView = (claimed: ClaimedViews | undefined): View | undefined =>
  claimed && {
    encryptedContent: claimed.encryptedContent,
    nonce: claimed.nonce,
    viewCount: claimed.count,
    maxViews: claimed.maxViews,
  };
