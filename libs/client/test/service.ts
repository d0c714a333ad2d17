import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@mayfly/local-stores/ports';
import { freshDatabase, freshFolder, freshRedis } from '@mayfly/local-stores/testing';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export type Service = AsyncDisposable & { baseUrl: string; blobDir: string };

/** The whole service in one process, on stores of its own. Nothing of this process's environment reaches it. */
export async function startService(settings: Record<string, string> = {}): Promise<Service> {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase());
  const redis = stack.use(await freshRedis());
  const folder = stack.use(await freshFolder());
  const port = await freePort();
  const child = spawn(process.execPath, ['services/all/src/main.ts'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      BLOB_DIR: folder.path,
      HOST: '127.0.0.1',
      PORT: String(port),
      CLEANUP_INTERVAL_SEC: '1',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'], // the channel ends the service with the test that started it
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text: Buffer) => {
      output += text;
    });
  }
  stack.defer(async () => {
    if (child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  for (let tries = 0; !(await isHealthy(baseUrl)); tries += 1) {
    if (child.exitCode !== null || tries > 600) throw new Error(`the service did not start: ${output}`);
    await sleep(50);
  }
  return { baseUrl, blobDir: folder.path, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function isHealthy(baseUrl: string): Promise<boolean> {
  return fetch(`${baseUrl}/api/health`).then(
    ({ ok }) => ok,
    () => false, // not listening yet
  );
}
