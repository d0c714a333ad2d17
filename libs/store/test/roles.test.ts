import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { freshDatabase, query } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { migrate, openDatabase } from '../src/postgres/database.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';
import { newItem } from './new-items.ts';

const documented = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');

test('the roles of docs/operations.md: one migrates, twice, the other uses what is there and changes no table', async () => {
  await using database = await freshDatabase();
  const unique = randomUUID().slice(0, 8);
  const [owner, user] = [`migrate_${unique}`, `mayfly_${unique}`];
  const [, statements = ''] = /```sql\n(CREATE ROLE mayfly_migrate[^`]*)```/.exec(documented) ?? [];
  const name = new URL(database.url).pathname.slice(1);
  const theirs = statements
    .replace('ON DATABASE mayfly', `ON DATABASE "${name}"`)
    .replaceAll(/\bmayfly_migrate\b/g, owner)
    .replaceAll(/\bmayfly\b/g, user)
    .replaceAll("'...'", "'secret'");
  await query(database.url, theirs);
  const urlOf = (role: string) => Object.assign(new URL(database.url), { username: role, password: 'secret' }).href;
  try {
    await migrate(urlOf(owner));
    await migrate(urlOf(owner));

    await using db = openDatabase({ DATABASE_URL: urlOf(user), DATABASE_POOL_SIZE: 2 }, pino({ level: 'silent' }));
    await postgresUploads(db).check();
    await postgresNotes(db).check();
    const note = { ...newItem(), contentType: 'text' as const, encryptedContent: 'AAAA', nonce: 'AAAA', maxViews: 1 };
    await postgresNotes(db).add(note);
    expect(await postgresNotes(db).find(note.id)).toMatchObject({ id: note.id });
    const refused = await query(
      urlOf(user),
      `select schemaname || '.' || tablename as table from pg_tables
       where schemaname in ('files', 'notes')
         and not has_table_privilege(schemaname || '.' || tablename, 'select, insert, update, delete')`,
    );
    expect(refused).toEqual([]);
    await expect(query(urlOf(user), 'alter table files.uploads drop column size')).rejects.toThrow('owner');
    await expect(query(urlOf(user), 'create table files.mine (a int)')).rejects.toThrow('permission denied');
  } finally {
    await query(database.url, `drop owned by ${user}; drop owned by ${owner} cascade; drop role ${owner}, ${user}`);
  }
});
