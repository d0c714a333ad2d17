import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { query, testServers } from './stores.ts';

// A cluster of Citus that TEST_CITUS_URL names: its coordinator, with the other nodes added to it. Every test has a database
// of its own on all nodes, copied from one with distributed tables.

const DISTRIBUTE = join(import.meta.dirname, '../../../deploy/citus/distribute.sql');

/** Makes a cluster of the databases of this name, which `migrate` then gives tables, and distributes these. */
export async function distribute(databaseUrl: string, migrate: (url: string) => Promise<void>) {
  const everywhere = await testServers();
  const [coordinator = '', ...nodes] = everywhere.map((url) => {
    const { pathname } = new URL(databaseUrl);
    return Object.assign(new URL(url), { pathname }).href;
  });
  for (const url of [coordinator, ...nodes]) await query(url, 'create extension citus');
  const host = ({ hostname, port }: URL) => [hostname, Number(port)];
  await query(coordinator, 'select citus_set_coordinator_host($1, $2)', host(new URL(coordinator)));
  for (const node of nodes) await query(coordinator, 'select citus_add_node($1, $2)', host(new URL(node)));
  await migrate(coordinator);
  await query(coordinator, await readFile(DISTRIBUTE, 'utf8'));
  // Citus keeps a process in each database, and one that is to be copied may have none: no more can begin.
  const name = new URL(databaseUrl).pathname.slice(1);
  for (const url of everywhere) {
    await query(url, `alter database ${name} with allow_connections false`);
    await query(url, 'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [name]);
  }
}
