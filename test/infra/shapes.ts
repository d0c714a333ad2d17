import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { portProblem } from '@mayfly/local-stores/ports';
import { freshDatabase, freshRedis } from '@mayfly/local-stores/testing';
import { diskBlobs, s3Blobs, type TestBlobs } from './blobs.ts';
import { attach, deployment } from './deployment.ts';

/**
 * `all`: one process, blobs on the disk. `split`: gateway, files and notes (each twice) and the janitor, as processes of
 * their own, blobs on S3. `deployed`: what TEST_DEPLOYMENT names, with the settings that it has.
 */
export type Shape = 'all' | 'split' | 'deployed';
export const SHAPES: Shape[] = deployment() ? ['deployed'] : ['all', 'split'];

export type ServiceProcess = {
  name: string;
  /** The one that runs now, or ran last. */
  child: ChildProcess;
  /** All that it has printed, before a restart, too. */
  output: () => string;
  /** Its own address; the gateway's is public. */
  url: string;
  adminUrl: string;
  /** The same settings and ports in a new process. */
  restart: () => void;
};

export type RunningShape = AsyncDisposable & {
  /** Public addresses; with `split` each is a gateway of its own with its own replicas of files and notes. */
  baseUrls: string[];
  baseUrl: string;
  databaseUrl: string;
  redisUrl: string;
  blobs: TestBlobs;
  processes: ServiceProcess[];
};

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Nothing else of this process reaches a service: a setting of whoever runs the tests must not change them. */
const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
/** The compiled code is kept: a start then takes a little more than half the time, and the suites start hundreds of processes. */
const INHERITED = { PATH, HOME, ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}) };

/** Options that let a test see an item expire. */
const TEST_SETTINGS = {
  EXPIRE_OPTIONS_SEC: '1,2,60,3600,86400',
  NOTE_EXPIRE_OPTIONS_SEC: '1,2,60,3600,86400',
  CLEANUP_INTERVAL_SEC: '1',
  LOG_LEVEL: 'info',
  RATE_LIMIT_MAX: '0', // tests send more than a client should; those of the limits set their own
  TOKEN_FAILURES_MAX: '0',
  REDIS_TIMEOUT_MS: '2000', // a busy machine must not look like a hung Redis
  HOST: '127.0.0.1',
};

/** Starts the service in one of its shapes on stores of its own. */
export async function startShape(shape: Shape, settings: Record<string, string> = {}): Promise<RunningShape> {
  const running = shape === 'deployed' ? deployment() : undefined;
  if (running) return attach(running);
  const stack = new AsyncDisposableStack();
  const [database, redis, blobs] = [
    stack.use(await freshDatabase()),
    stack.use(await freshRedis()),
    stack.use(await (shape === 'all' ? diskBlobs() : s3Blobs())),
  ];
  const env = {
    ...TEST_SETTINGS,
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    ...blobs.settings,
    ...settings,
  };
  const processes: ServiceProcess[] = [];
  const start = async (name: string, extra: Record<string, string> = {}) => {
    const [port, adminPort] = [await unusedPort(), await unusedPort()];
    const service = spawnService(name, { ...env, ...extra, PORT: String(port), ADMIN_PORT: String(adminPort) });
    stack.defer(() => stopService(service));
    processes.push(service);
    return { service, url: service.url };
  };

  const gateways = shape === 'all' ? [await start('all')] : await startSplit(start, env);
  await Promise.all(gateways.map(({ service, url }) => untilHealthy(service, url)));
  // Somebody else may have taken a port since it was free, and answers there now.
  const ended = processes.find(({ child }) => child.exitCode !== null);
  if (ended) throw new Error(`${ended.name} ended: ${ended.output()}`);
  const baseUrls = gateways.map(({ url }) => url);
  return {
    baseUrls,
    baseUrl: baseUrls[0] ?? '',
    databaseUrl: database.url,
    redisUrl: redis.url,
    blobs,
    processes,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const PORTS = 50;
/** Below the ports that systems give out by themselves, and for each worker its own: two services never meet on one. */
const FIRST_PORT = 20_000 + (process.pid % 200) * PORTS;
let portsGiven = 0;

export async function unusedPort(): Promise<number> {
  for (let tries = 0; tries < 2 * PORTS; tries++) {
    const port = FIRST_PORT + (portsGiven++ % PORTS);
    if ((await portProblem(port, '127.0.0.1')) === undefined) return port;
  }
  throw new Error('no port is free');
}

type Started = { service: ServiceProcess; url: string };
type Start = (name: string, extra?: Record<string, string>) => Promise<Started>;

async function startSplit(start: Start, env: Record<string, string>): Promise<Started[]> {
  await migrateTables(env);
  await start('janitor');
  const replica = async () => {
    const [files, notes] = await Promise.all([start('files'), start('notes')]);
    return start('gateway', { FILES_URL: files.url, NOTES_URL: notes.url });
  };
  return Promise.all([replica(), replica()]);
}

export async function migrateTables(env: Record<string, string>) {
  const migrate = spawn(process.execPath, ['libs/store/src/migrate.ts'], {
    cwd: root,
    env: { ...INHERITED, ...env },
    stdio: 'ignore',
  });
  const [code] = await once(migrate, 'exit');
  if (code !== 0) throw new Error('the migration failed');
}

/** One process of the service by itself, as a test sets it up. */
export async function startProcess(name: string, settings: Record<string, string>): Promise<ServiceProcess> {
  const [port, adminPort] = [settings.PORT ?? (await unusedPort()), await unusedPort()];
  const env = { ...TEST_SETTINGS, ...settings, PORT: String(port), ADMIN_PORT: String(adminPort) };
  return spawnService(name, env);
}

function spawnService(name: string, env: Record<string, string>): ServiceProcess {
  let output = '';
  const launch = () => {
    const child = spawn(process.execPath, [`services/${name}/src/main.ts`], {
      cwd: root,
      env: { ...INHERITED, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'], // the channel ends the service with the test that started it
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => {
        output += text;
      });
    }
    return child;
  };
  const service: ServiceProcess = {
    name,
    child: launch(),
    output: () => output,
    url: `http://${env.HOST}:${env.PORT}`,
    adminUrl: `http://127.0.0.1:${env.ADMIN_PORT}`,
    restart: () => {
      service.child = launch();
    },
  };
  return service;
}

export async function untilHealthy({ name, child, output }: ServiceProcess, url: string) {
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${output()}`);
    const isUp = await fetch(`${url}/api/health`).then(
      (answer) => answer.ok,
      () => false, // not listening yet
    );
    if (isUp) return;
    await sleep(50);
  }
  throw new Error(`${name} did not become healthy: ${output()}`);
}

/** Ready by its own word, for a process without a public address. */
export async function untilReady({ name, child, output, adminUrl }: ServiceProcess) {
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${output()}`);
    const isReady = await fetch(`${adminUrl}/readyz`).then(
      (answer) => answer.ok,
      () => false, // not listening yet
    );
    if (isReady) return;
    await sleep(50);
  }
  throw new Error(`${name} did not become ready: ${output()}`);
}

export async function stopService({ child }: ServiceProcess, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await exited;
  clearTimeout(timer);
}

/** Most memory that the process has had resident, in bytes; undefined where the system does not tell. */
export function peakMemoryBytes({ child }: ServiceProcess): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
  return match ? Number(match[1]) * 1024 : undefined;
}
