import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningShape } from '@mayfly/testing/shapes';
import { query } from '@mayfly/testing/stores';
import { LONG_LIFE_SEC } from './by-owners.ts';
import { digestOf } from './calls.ts';
import { type Afterwards, certainItems } from './checker.ts';
import type { History } from './history.ts';
import { LIFE_SEC } from './on-items.ts';

/** The stores of a service, past what is broken of the way to them. */
export type Site = Pick<RunningShape, 'databaseUrl' | 'blobs'>;

const LOOK_MS = 300;

/** The most bytes that uploads have together while it watches. */
export function watchStored({ databaseUrl }: Site) {
  let most = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const statement = `select coalesce(sum(size), 0) as bytes from files.uploads where state = 'available'`;
      const [stored] = await query<{ bytes: string }>(databaseUrl, statement);
      most = Math.max(most, Number(stored?.bytes));
      await sleep(LOOK_MS);
    }
  })();
  return {
    async end() {
      isOver = true;
      await watching;
      return most;
    },
  };
}

/** Uploads of which no answer is missing, those that were used least first. */
export async function certainUploads({ databaseUrl }: Site, { operations, labels }: History): Promise<string[]> {
  const certain = certainItems(operations);
  const owned = await query<{ id: string; owner: string }>(
    databaseUrl,
    `select id, encode(owner_hash, 'hex') as owner from files.uploads where state = 'available' order by download_count`,
  );
  return owned.filter(({ owner }) => certain.has(labels.get(owner) ?? '')).map(({ id }) => id);
}

/** Leases, sessions and repeated views end, and what waits for another try is tried now, as if hours had passed; nothing else expires. */
export async function letTimePass({ databaseUrl }: Site) {
  for (const statement of [
    `update files.uploads set leased_until = now() - interval '1 second' where leased_until is not null`,
    `update files.upload_sessions set ends_at = now() - interval '1 second'`,
    `update files.uploads set due_at = now() - interval '1 second' where state = 'pending'`,
    `update files.download_leases set ends_at = now() - interval '1 second', hard_ends_at = now() - interval '1 second'`,
    `update files.blob_deletions set due_at = now() - interval '1 second'`,
    `update notes.notes set repeatable_until = now(), due_at = now() where state = 'available' and view_count >= max_views`,
  ]) {
    await query(databaseUrl, statement);
  }
}

/** What should be over and is not, and sums that are wrong. */
export async function leftOver({ databaseUrl }: Site): Promise<string[]> {
  const rows = await query<{ id: string }>(
    databaseUrl,
    `select id::text from files.uploads where state = 'pending'
     union all select id::text from files.uploads
       where state = 'available' and (download_count >= max_downloads or expires_at <= now())
     union all select 'deletion of ' || id from files.blob_deletions
     union all select 'lease of ' || upload_id from files.download_leases
     union all select 'session of ' || id from files.upload_sessions
     union all select 'part of ' || id from files.upload_parts
     union all select id::text from notes.notes
       where state = 'available' and (view_count >= max_views or expires_at <= now())
     union all select 'drop into ' || request_id from files.request_drops where request_id not in (select id from files.requests)
     union all select 'sums of ' || id from files.requests r
       where (drop_count, byte_count) <>
         (select count(*), coalesce(sum(bytes), 0) from files.request_drops d where d.request_id = r.id)
     union all select 'room for requests' from files.request_storage
       where bytes <> (select coalesce(sum(held_bytes), 0) from files.requests)`,
  );
  return rows.map(({ id }) => id);
}

type Row = {
  id: string;
  owner: string;
  uses: number;
  limit: number;
  sec: number | null;
  content: string | null;
  keys: string[] | null;
};

export async function lookAt(site: Site, { labels, ids }: History): Promise<Afterwards> {
  const rows = await query<Row>(
    site.databaseUrl,
    `select id, encode(owner_hash, 'hex') as owner, download_count as uses, max_downloads as limit,
       extract(epoch from expires_at - created_at)::int as sec, null as content, null::text[] as keys
     from files.uploads where state = 'available'
     union all
     select id, encode(owner_hash, 'hex'), view_count, max_views, extract(epoch from expires_at - created_at)::int,
       encrypted_content, null
     from notes.notes where state = 'available'
     union all
     select id, encode(owner_hash, 'hex'), drop_count, max_drops, null, '',
       array(select upload_id::text from files.request_drops where request_id = id)
     from files.requests`,
  );
  const items: Afterwards['items'] = new Map();
  const labelOf = new Map<string, string>();
  for (const { id, owner, uses, limit, sec, content, keys } of rows) {
    const label = labels.get(owner) ?? id;
    labelOf.set(id, label);
    const bytes = content ?? (await site.blobs.read(id).catch(() => 'nothing'));
    const lifeSec = sec === null ? {} : { lifeSec: sec < (LIFE_SEC + LONG_LIFE_SEC) / 2 ? LIFE_SEC : LONG_LIFE_SEC };
    const told = keys && { keys: keys.map((key) => ids.get(key) ?? key) };
    items.set(label, { uses, limit, digest: content === '' ? '' : digestOf(bytes), ...lifeSec, ...told });
  }
  const [held] = await query<{ bytes: number }>(
    site.databaseUrl,
    'select (select bytes from files.storage) + (select bytes from notes.storage) as bytes',
  );
  const idOf = (name: string) => name.replace(/\.bin$/, '');
  const names = (await site.blobs.names()).map(idOf);
  // Where nobody was told of its beginning, the comparison finds it a day later.
  const parts = (await site.blobs.unfinished()).flatMap((name) => ids.get(idOf(name)) ?? []);
  return {
    items,
    heldBytes: Number(held?.bytes),
    blobs: names.map((id) => labelOf.get(id) ?? id),
    leftOver: [...(await leftOver(site)), ...parts.map((label) => `parts of ${label}`)],
  };
}
