import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';
import { freePort, onFreePort } from './ports.ts';
import { startServer } from './server-process.ts';
import { startWatchdog } from './watchdog.ts';

export type LocalMinio = AsyncDisposable & {
  url: string;
  accessKey: string;
  secretKey: string;
  pid: number;
  version: string;
};

/** Where `go install github.com/minio/minio@latest` is told to put it (CONTRIBUTING.md): MinIO ships no programs any more. */
function minioFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'mayfly', 'bin');
}

/** The MinIO server of this machine: on the PATH, or in the cache. */
export function findMinio(): string | undefined {
  return findProgram(['minio'], [minioFolder()]);
}

/** Starts a MinIO that keeps nothing, on 127.0.0.1, with settings of its own besides. Throws CannotStart when it does not come up. */
export async function startMinio(program: string, settings: Record<string, string> = {}): Promise<LocalMinio> {
  await using undo = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-minio-'));
  chmodSync(folder, 0o700);
  undo.defer(() => rmSync(folder, { recursive: true, force: true }));
  const accessKey = randomBytes(8).toString('hex');
  const secretKey = randomBytes(24).toString('hex');

  const { server, port } = await onFreePort(async (port) => ({
    port,
    server: await startServer({
      name: 'MinIO',
      command: program,
      args: ['server', '--address', `127.0.0.1:${port}`, '--console-address', `127.0.0.1:${await freePort()}`, folder],
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        MINIO_ROOT_USER: accessKey,
        MINIO_ROOT_PASSWORD: secretKey,
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
        ...settings,
      },
      ready: /^API: http/,
    }),
  }));
  const watchdog = startWatchdog(server.pid, folder);
  undo.defer(() => watchdog.dismiss());
  undo.defer(() =>
    server.stop([
      ['SIGCONT', 0],
      ['SIGTERM', 10_000],
      ['SIGKILL', 5_000],
    ]),
  );
  const { stdout } = await promisify(execFile)(program, ['--version']);
  const version = /version (\S+)/.exec(stdout)?.[1] ?? 'of unknown version';
  const running = undo.move();
  const url = `http://127.0.0.1:${port}`;
  return { url, accessKey, secretKey, pid: server.pid, version, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
