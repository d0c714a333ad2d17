import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findRedis, type RedisProgram } from './find-redis.ts';
import { ownFolder } from './own-folder.ts';
import { onFreePort } from './ports.ts';
import { startServer } from './server-process.ts';
import { startWatchdog } from './watchdog.ts';

export type LocalRedis = AsyncDisposable & {
  url: string;
  port: number;
  pid: number;
  version: string;
  exited: Promise<string>;
  stop(): Promise<void>;
};

export type RedisOptions = {
  /** Its working folder, owned while it runs. Nothing is written there: all is in memory. Without it a throw-away. */
  dataDir?: string | undefined;
  /** A free one unless given. */
  port?: number | undefined;
  program?: RedisProgram | undefined;
  /** A new one unless given: a server that is started again keeps its own. */
  password?: string | undefined;
  onLog?: (line: string) => void;
};

/** Starts a Redis of this project's own on 127.0.0.1. Throws CannotStart when its data is in use or it does not come up. */
export async function startRedis(options: RedisOptions = {}): Promise<LocalRedis> {
  const { path, version } = options.program ?? (await findRedis());
  await using undo = new AsyncDisposableStack();
  const temporary = options.dataDir === undefined ? mkdtempSync(join(tmpdir(), 'mayfly-redis-')) : undefined;
  if (temporary) undo.defer(() => rmSync(temporary, { recursive: true, force: true }));
  const folder = resolve(options.dataDir ?? temporary ?? '');
  const owned = await ownFolder(folder, 'Redis');
  undo.defer(() => owned.release());
  forgetWhatWasKept(folder);

  const password = options.password ?? randomBytes(24).toString('hex');
  const { server, port } = await onFreePort(async (port) => {
    const input = configuration({ port, folder, password });
    // The configuration goes through standard input: a list of processes must not show the password.
    const start = { name: 'Redis', command: path, args: ['-'], env: { PATH: process.env.PATH, LC_ALL: 'C' }, input };
    return { port, server: await startServer({ ...start, onLog: options.onLog }) };
  }, options.port);
  owned.serverIs(server.pid);
  const watchdog = startWatchdog(server.pid, temporary);
  undo.defer(() => watchdog.dismiss());
  undo.defer(() =>
    server.stop([
      ['SIGCONT', 0],
      ['SIGINT', 15_000],
      ['SIGKILL', 5_000],
    ]),
  );

  const running = undo.move();
  const stop = () => running.disposeAsync();
  const url = `redis://:${password}@127.0.0.1:${port}`;
  return { url, port, pid: server.pid, version, exited: server.exited, stop, [Symbol.asyncDispose]: stop };
}

/** Earlier versions kept keys and the times of requests on the disk. Decision limits-kept-in-memory. */
function forgetWhatWasKept(folder: string) {
  for (const name of readdirSync(folder)) {
    if (/^(appendonly.*|.*\.rdb)$/.test(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** What it holds is about who asked for what and when: it never gets to a disk. Decision limits-kept-in-memory. */
function configuration(given: { port: number; folder: string; password: string }): string {
  return [
    'bind 127.0.0.1',
    `port ${given.port}`,
    `dir ${JSON.stringify(given.folder)}`,
    `requirepass ${given.password}`,
    'daemonize no',
    'save ""',
    'appendonly no',
    'maxmemory-policy noeviction', // jobs and counters are not a cache
    'loglevel notice',
    '',
  ].join('\n');
}
