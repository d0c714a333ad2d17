import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownFolder } from './own-folder.ts';
import { onFreePort } from './ports.ts';
import { clusterIn, createCluster, diskMib, ENVIRONMENT, NAME, whenReleased } from './postgres-cluster.ts';
import { choosePlace, type Place } from './postgres-place.ts';
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

const THROW_AWAY = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

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

  const password = await createCluster(place, options.dataDir === undefined);
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

async function run(place: Place, port: number, { dataDir, maxConnections = 100, onLog }: PostgresOptions) {
  const cluster = clusterIn(place.folder);
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=', // no socket files to be left behind
    `max_connections=${maxConnections}`,
    'log_timezone=UTC',
    'timezone=UTC',
    ...(dataDir === undefined ? THROW_AWAY : logSizes(place.folder)),
  ];
  const args = ['-D', cluster, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  return whenReleased(cluster, () =>
    startServer({
      name: 'PostgreSQL',
      command: join(place.bin, 'postgres'),
      args,
      env: ENVIRONMENT,
      account: place.account,
      onLog,
    }),
  );
}

/** The write-ahead log takes a small share of a small disk: by default it may grow to a gigabyte. */
function logSizes(folder: string): string[] {
  const most = Math.min(Math.max(Math.floor(diskMib(folder) / 32), 32), 1_024);
  return [`max_wal_size=${most}MB`, `min_wal_size=${Math.min(most, 80)}MB`];
}
