import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ownFolder } from './own-folder.ts';
import { onFreePort } from './ports.ts';
import { choosePlace, type Place } from './postgres-place.ts';
import { CannotStart } from './problem.ts';
import { startServer } from './server-process.ts';
import { startWatchdog } from './watchdog.ts';

export type LocalPostgres = AsyncDisposable & {
  url: string;
  port: number;
  pid: number;
  exited: Promise<string>;
  stop(): Promise<void>;
};

export type PostgresOptions = {
  /** Where the data stays. Without it the server is a throw-away: no fsync, and its folder goes when it stops. */
  dataDir?: string | undefined;
  /** A free one unless given. */
  port?: number | undefined;
  maxConnections?: number;
  onLog?: (line: string) => void;
  /** Told what a person should know, such as data that lies elsewhere. */
  say?: (line: string) => void;
};

/** One folder for each major version: another version cannot read it and must not try. */
const CLUSTER = '18';
const NAME = 'mayfly';
const THROW_AWAY = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];
// The environment of the caller may hold PGDATA, PGOPTIONS, locales and more that PostgreSQL would listen to.
const ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Starts a PostgreSQL 18 of this project's own on 127.0.0.1, with an empty database at first. Throws CannotStart when
 * the data is in use or the server does not come up.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<LocalPostgres> {
  await using undo = new AsyncDisposableStack();
  const temporary = options.dataDir === undefined ? temporaryFolder() : undefined;
  if (temporary) undo.defer(() => rmSync(temporary, { recursive: true, force: true }));
  const place = choosePlace(options.dataDir ?? temporary ?? '', options.say ?? (() => {}));
  if (temporary) undo.defer(() => rmSync(place.folder, { recursive: true, force: true }));
  const owned = await ownFolder(place.folder, 'PostgreSQL');
  undo.defer(() => owned.release());

  const password = await createCluster(place, options);
  const { server, port } = await onFreePort(
    async (port) => ({ port, server: await run(place, port, options) }),
    options.port,
  );
  owned.serverIs(server.pid);
  const watchdog = startWatchdog(server.pid, temporary && place.folder);
  undo.defer(() => watchdog.dismiss());
  // Fast shutdown: open transactions are rolled back, nothing that was committed is lost.
  undo.defer(() =>
    server.stop([
      ['SIGCONT', 0],
      ['SIGINT', 20_000],
      ['SIGQUIT', 5_000],
      ['SIGKILL', 5_000],
    ]),
  );
  const url = `postgres://${NAME}:${password}@127.0.0.1:${port}/${NAME}`;

  const running = undo.move();
  const stop = () => running.disposeAsync();
  return { url, port, pid: server.pid, exited: server.exited, stop, [Symbol.asyncDispose]: stop };
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-postgres-'));
  chmodSync(folder, 0o755); // when root starts it, another account must get in; the data itself is closed
  return folder;
}

/** Makes the cluster at the first start. Returns its password. */
async function createCluster({ bin, folder, account }: Place, { dataDir }: PostgresOptions): Promise<string> {
  const cluster = join(folder, CLUSTER);
  const passwordFile = join(folder, 'password');
  if (existsSync(cluster)) return readFileSync(passwordFile, 'utf8').trim();

  const password = randomBytes(24).toString('hex');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  // Under another name until it is whole: an interrupted start leaves nothing that looks like a cluster.
  const draft = `${cluster}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  if (account) for (const path of [passwordFile, draft]) chownSync(path, account.uid, account.gid);
  // The locale is PostgreSQL's own C.UTF-8, the same on every system.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${NAME}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const kind = dataDir === undefined ? '--no-sync' : `--wal-segsize=${logPieceMib(folder)}`;
  const args = [...locale, ...access, `--pgdata=${draft}`, kind];
  try {
    await promisify(execFile)(join(bin, 'initdb'), args, { cwd: '/', env: ENVIRONMENT, ...account });
    await createDatabase(join(bin, 'postgres'), [draft, ...(dataDir === undefined ? ['-F'] : [])], account);
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: string };
    throw new CannotStart(`PostgreSQL could not create its data in ${folder}: ${(stderr || message).trim()}`, {
      cause,
    });
  }
  renameSync(draft, cluster);
  return password;
}

/** Without a server, once: later starts need not look whether it is there. */
async function createDatabase(program: string, place: string[], account: Place['account']) {
  const args = ['--single', '-c', 'exit_on_error=on', '-D', ...place, 'postgres'];
  const running = promisify(execFile)(program, args, { cwd: '/', env: ENVIRONMENT, ...account });
  running.child.stdin?.end(`create database ${NAME}\n`);
  await running;
}

async function run(place: Place, port: number, { dataDir, maxConnections = 100, onLog }: PostgresOptions) {
  const cluster = join(place.folder, CLUSTER);
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=', // no socket files to be left behind
    `max_connections=${maxConnections}`,
    'log_timezone=UTC',
    'timezone=UTC',
    ...(dataDir === undefined ? THROW_AWAY : logSizes(place.folder)),
  ];
  // The folder is ours and no server of it runs, so the file is stale. Its number may belong to another process by
  // now, and PostgreSQL would then refuse to start.
  rmSync(join(cluster, 'postmaster.pid'), { force: true });
  const args = ['-D', cluster, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  for (const giveUp = Date.now() + 10_000; ; await sleep(250)) {
    try {
      return await startServer({
        name: 'PostgreSQL',
        command: join(place.bin, 'postgres'),
        args,
        env: ENVIRONMENT,
        account: place.account,
        onLog,
      });
    } catch (error) {
      // The children of a server that was killed need a moment to notice.
      if (Date.now() > giveUp || !String(error).includes('pre-existing shared memory block')) throw error;
    }
  }
}

const MIB = 2 ** 20;

const diskMib = (folder: string) => {
  const { bsize, blocks } = statfsSync(folder);
  return (bsize * blocks) / MIB;
};

/** The log grows by whole pieces, of 16 MiB by default, and PostgreSQL dies where there is no room for the next one. */
const logPieceMib = (folder: string) => (diskMib(folder) < 8_192 ? 4 : 16);

/** The write-ahead log takes a small share of a small disk: by default it may grow to a gigabyte. */
function logSizes(folder: string): string[] {
  const most = Math.min(Math.max(Math.floor(diskMib(folder) / 32), 32), 1_024);
  return [`max_wal_size=${most}MB`, `min_wal_size=${Math.min(most, 80)}MB`];
}
