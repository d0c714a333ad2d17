-- Distributes Mayfly's tables over the nodes of a Citus cluster, each by the id of the item that a row belongs to, so that all
-- rows of one item are on one node. On the coordinator, after the migration of every release: what is distributed already stays
-- as it is. docs/operations.md, "PostgreSQL on several servers", says when.
begin;

do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      -- Table, the column of the item's id, the primary key where that lacks it.
      ('files.uploads', 'id', null),
      ('files.blob_deletions', 'id', null),
      ('files.upload_sessions', 'id', null),
      ('files.upload_parts', 'id', null),
      ('files.download_leases', 'upload_id', null),
      ('files.notices', 'item_id', 'item_id, id'),
      ('files.requests', 'id', null),
      ('files.request_drops', 'request_id', null),
      ('files.request_notices', 'item_id', 'item_id, id'),
      ('notes.notes', 'id', null),
      ('notes.notices', 'item_id', 'item_id, id')
    ) as tables (name, item, primary_key)
  loop
    continue when exists (select from pg_dist_partition where logicalrelid = wanted.name::regclass and partmethod = 'h');
    if wanted.primary_key is not null then
      -- A unique key of a distributed table holds the column that it is distributed by.
      execute format('alter table %s drop constraint %I, add primary key (%s)', wanted.name,
        (select conname from pg_constraint where conrelid = wanted.name::regclass and contype = 'p'), wanted.primary_key);
    end if;
    perform create_distributed_table(wanted.name, wanted.item);
  end loop;
end
$$;

-- files.blob_store, the three tables of what is stored, and desk.* are small, and stay on the coordinator.
commit;
