import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '@mayfly/local-stores/ports';
import type { Deployment } from '@mayfly/testing/deployment';

export const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Why there is no engine to start containers on; undefined where one answers. */
async function engineProblem(): Promise<string | undefined> {
  try {
    await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 20_000 });
    await run('docker', ['compose', 'version'], { timeout: 20_000 });
    return undefined;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    return code === 'ENOENT'
      ? 'there is no docker on the PATH'
      : stderr.trim().split('\n')[0] || 'docker does not answer';
  }
}

export const isWanted = process.env.TEST_COMPOSE === 'yes';
const problem = isWanted ? await engineProblem() : undefined;
if (problem) throw new Error(`TEST_COMPOSE=yes needs a Docker engine with Compose: ${problem}`);

/** What Docker says to a command, from the root of the repository. */
export async function docker(...args: string[]): Promise<string> {
  return (await run('docker', args, { cwd: root, maxBuffer: 2 ** 28 })).stdout.trim();
}

export type Project = Awaited<ReturnType<typeof openProject>>;

/** docker-compose.yml, with other files over it, as a project of its own, with the tests' settings, on a free port. */
export async function openProject(...over: string[]) {
  const name = `mayfly-test-${randomBytes(4).toString('hex')}`;
  const port = await freePort();
  const image = `${name}:local`;
  const baseUrl = `http://127.0.0.1:${port}`;
  const files = ['docker-compose.yml', ...over, 'test/compose/override.yaml'];
  const env = {
    ...process.env,
    COMPOSE_PROJECT_NAME: name,
    COMPOSE_FILE: files.map((file) => join(root, file)).join(':'),
    MAYFLY_IMAGE: image,
    PORT: String(port),
    BASE_URL: baseUrl,
    DRAIN_GRACE_MS: '60000',
  };

  async function docker(...args: string[]): Promise<string> {
    const { stdout } = await run('docker', args, { cwd: root, env, maxBuffer: 2 ** 28, timeout: 600_000 });
    return stdout.trim();
  }
  const compose = (...args: string[]) => docker('compose', ...args);
  const up = (...args: string[]) => compose('up', '-d', '--wait', '--wait-timeout', '300', ...args);
  const exec = (service: string, ...command: string[]) => compose('exec', '-T', service, ...command);
  const containers = async (service: string) => (await compose('ps', '-q', service)).split('\n').filter(Boolean);
  const inspect = (id: string, format: string) => docker('inspect', '-f', format, id);

  return {
    name,
    image,
    baseUrl,
    docker,
    compose,
    up,
    exec,
    containers,
    inspect,
    /** Builds the image anew, with these variables besides. */
    async build(more: Record<string, string> = {}) {
      await run('docker', ['compose', 'build', 'gateway'], { cwd: root, env: { ...env, ...more }, maxBuffer: 2 ** 28 });
    },
    /** What an operator runs, with these variables besides. */
    async script(path: string, more: Record<string, string> = {}): Promise<string> {
      const { stdout } = await run('sh', [join(root, path)], { env: { ...env, ...more }, timeout: 900_000 });
      return stdout;
    },
    async deployment(): Promise<Deployment> {
      const address = (service: string, inner: number) => compose('port', service, String(inner));
      const secret = (service: string, path: string) => exec(service, 'cat', `/run/mayfly/${path}`);
      return {
        baseUrl,
        databaseUrl: `postgres://mayfly:${await secret('postgres', 'postgres/password')}@${await address('postgres', 5432)}/mayfly`,
        redisUrl: `redis://:${await secret('redis', 'redis/password')}@${await address('redis', 6379)}`,
        s3: {
          S3_ENDPOINT: `http://${await address('minio', 9000)}`,
          S3_REGION: 'us-east-1',
          S3_BUCKET: 'mayfly',
          S3_ACCESS_KEY: await secret('minio', 's3/access-key'),
          S3_SECRET_KEY: await secret('minio', 's3/secret-key'),
        },
      };
    },
    /** Every replica of a service gives way to a new one, one after the other, as an update does it. */
    async replace(service: string): Promise<{ exitCodes: string[] }> {
      const old = await containers(service);
      const exitCodes: string[] = [];
      for (const id of old) {
        await up('--no-recreate', '--no-deps', '--scale', `${service}=${old.length + 1}`, service);
        await docker('stop', '-t', '90', id);
        exitCodes.push(await inspect(id, '{{.State.ExitCode}}'));
        await docker('rm', id);
      }
      return { exitCodes };
    },
    async untilHealthy() {
      for (let tries = 0; tries < 120; tries++) {
        const isUp = await fetch(`${baseUrl}/api/health`, { signal: AbortSignal.timeout(5_000) }).then(
          (answer) => answer.ok,
          () => false, // not there yet
        );
        if (isUp) return;
        await sleep(500);
      }
      throw new Error(`it did not become healthy:\n${await compose('logs', '--tail', '30')}`);
    },
    async [Symbol.asyncDispose]() {
      await compose('--profile', '*', 'down', '--volumes', '--remove-orphans', '--timeout', '10');
      await docker('image', 'rm', '-f', image);
    },
  };
}
