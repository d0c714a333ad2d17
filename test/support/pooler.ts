import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '@mayfly/local-stores/find-program';
import { freePort } from '@mayfly/local-stores/ports';
import { startServer } from '@mayfly/local-stores/server-process';
import { freshFolder } from '@mayfly/testing/stores';

export const pgbouncer = findProgram(['pgbouncer'], ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']);

/** PgBouncer refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** A real PgBouncer before a database, as it is without a word about Mayfly in its configuration. */
export async function startPooler(databaseUrl: string, mode: 'session' | 'transaction') {
  if (!pgbouncer) throw new Error('there is no pgbouncer on this machine');
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(await freshFolder());
  const url = new URL(databaseUrl);
  const users = join(folder.path, 'users.txt');
  writeFileSync(users, `"${url.username}" "${decodeURIComponent(url.password)}"\n`);
  const port = await freePort();
  const file = join(folder.path, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${url.hostname} port=${url.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${mode === 'session' ? 60 : 3}
`,
  );
  const server = await startServer({
    name: 'PgBouncer',
    command: pgbouncer,
    args: [file],
    env: { PATH: process.env.PATH },
    ready: /process up/,
    ...(process.getuid?.() === 0 ? { account: NOBODY } : {}),
  });
  undo.defer(() =>
    server.stop([
      ['SIGINT', 2_000],
      ['SIGKILL', 5_000],
    ]),
  );
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const running = undo.move();
  return { url: url.href, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
