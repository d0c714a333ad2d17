import { type Service, startService, startSplit, untilAnswered, untilHealthy } from '@mayfly/launcher/service';
import { unusedPort } from '@mayfly/local-stores/ports';
import { diskBlobs, s3Blobs, type TestBlobs } from './blobs.ts';
import { attach, deployment } from './deployment.ts';
import type { ShiftedClock } from './shifted-clock.ts';
import { freshDatabase, freshRedis } from './stores.ts';

/**
 * `all`: one process, blobs on the disk. `split`: gateway, files and notes (each twice) and the janitor, as processes of
 * their own, blobs on S3. `deployed`: what TEST_DEPLOYMENT names, with the settings that it has.
 */
export type Shape = 'all' | 'split' | 'deployed';
export const SHAPES: Shape[] = deployment() ? ['deployed'] : ['all', 'split'];

export type ServiceProcess = Service & { adminUrl: string; clock?: ShiftedClock | undefined };

export type RunningShape = AsyncDisposable & {
  /** Public addresses; with `split` each is a gateway of its own with its own replicas of files and notes. */
  baseUrls: string[];
  baseUrl: string;
  /** The processes at the public addresses. */
  gateways: ServiceProcess[];
  databaseUrl: string;
  redisUrl: string;
  blobs: TestBlobs;
  processes: ServiceProcess[];
};

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

/** What a test breaks: where payloads lie, and the clock of each process. */
type Breakable = { openBlobs?: () => Promise<TestBlobs>; nextClock?: () => ShiftedClock | undefined };

/** Starts the service in one of its shapes on stores of its own. */
export async function startShape(
  shape: Shape,
  settings: Record<string, string> = {},
  { openBlobs = shape === 'all' ? diskBlobs : s3Blobs, nextClock }: Breakable = {},
): Promise<RunningShape> {
  const running = shape === 'deployed' ? deployment() : undefined;
  if (running) return attach(running);
  const stack = new AsyncDisposableStack();
  const [database, redis, blobs] = [
    stack.use(await freshDatabase({ hasTables: true })),
    stack.use(await freshRedis()),
    stack.use(await openBlobs()),
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
    const clock = nextClock?.();
    const service = stack.use(await startProcess(name, { ...env, ...extra, ...clock?.settings }));
    processes.push(Object.assign(service, { clock }));
    return service;
  };
  const startReplicas = async () => {
    const { replicas } = await startSplit(2, start);
    return replicas.map(({ gateway }) => gateway);
  };
  const gateways = shape === 'all' ? [await start('all')] : await startReplicas();
  await Promise.all(gateways.map((gateway) => untilHealthy(gateway)));
  // Somebody else may have taken a port since it was free, and answers there now.
  const ended = processes.find(({ child }) => child.exitCode !== null);
  if (ended) throw new Error(`${ended.name} ended: ${ended.output()}`);
  const baseUrls = gateways.map(({ url }) => url);
  return {
    baseUrls,
    baseUrl: baseUrls[0] ?? '',
    gateways,
    databaseUrl: database.url,
    redisUrl: redis.url,
    blobs,
    processes,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** One process of the service by itself, as a test sets it up. */
export async function startProcess(name: string, settings: Record<string, string>): Promise<ServiceProcess> {
  const ADMIN_PORT = String(await unusedPort());
  const service = await startService(name, { ...TEST_SETTINGS, ...settings, ADMIN_PORT });
  return Object.assign(service, { adminUrl: `http://127.0.0.1:${ADMIN_PORT}` });
}

/** The same, once it is ready. The stack kills it. */
export async function startReady(stack: AsyncDisposableStack, name: string, settings: Record<string, string>) {
  const service = await startProcess(name, settings);
  stack.defer(() => service.stop('SIGKILL'));
  await untilReady(service);
  return service;
}

/** Ready by its own word, for a process without a public address. */
export async function untilReady(service: ServiceProcess) {
  await untilAnswered(service, `${service.adminUrl}/readyz`, (status) => (status === 200 ? true : undefined));
}
