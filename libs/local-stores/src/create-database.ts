import { text } from 'node:stream/consumers';
import pg from 'pg';

// A process of its own, since the driver would stay in the memory of whoever starts a server and then only waits. Reads the
// address of the new database from standard input: a list of processes must not show its password.

const url = new URL(await text(process.stdin));
const name = url.pathname.slice(1);
url.pathname = '/postgres';
const client = new pg.Client(url.href);
await client.connect();
try {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
  if (!rowCount) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
} finally {
  await client.end();
}
