import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';

/** Like the local stores: an address, what it is, and an end. */
export type ContainerStore = AsyncDisposable & { url: string; about: string };

const USER = 'mayfly';
const PASSWORD = 'of-these-tests-only';

/** The images that docker-compose.yml runs; TEST_..._IMAGE names others. */
const images = {
  postgres: () => process.env.TEST_POSTGRES_IMAGE || 'postgres:18',
  redis: () => process.env.TEST_REDIS_IMAGE || 'redis:8',
  minio: () => process.env.TEST_MINIO_IMAGE || 'pgsty/silo:RELEASE.2026-08-06T00-00-00Z',
};

/** PostgreSQL in a container. Rejects when there is no engine, or no image. */
export async function containerPostgres(): Promise<ContainerStore> {
  const started = await new GenericContainer(images.postgres())
    .withEnvironment({ POSTGRES_USER: USER, POSTGRES_PASSWORD: PASSWORD, POSTGRES_DB: USER })
    .withCommand(['postgres', '-c', 'max_connections=200', '-c', 'fsync=off'])
    .withTmpFs({ '/var/lib/postgresql': 'rw' })
    .withHealthCheck({
      test: ['CMD', 'pg_isready', '-h', '127.0.0.1', '-q'],
      interval: 500,
      timeout: 2_000,
      retries: 60,
    })
    .withWaitStrategy(Wait.forHealthCheck()) // over TCP: the server of the set-up listens on its socket only
    .withExposedPorts(5432)
    .start();
  return store(started, `postgres://${USER}:${PASSWORD}@${addressOf(started, 5432)}/${USER}`, images.postgres());
}

export async function containerRedis(): Promise<ContainerStore> {
  const started = await new GenericContainer(images.redis())
    .withCommand(['redis-server', '--requirepass', PASSWORD, '--save', '', '--maxmemory-policy', 'noeviction'])
    .withWaitStrategy(Wait.forListeningPorts())
    .withExposedPorts(6379)
    .start();
  return store(started, `redis://:${PASSWORD}@${addressOf(started, 6379)}`, images.redis());
}

export async function containerMinio(): Promise<ContainerStore> {
  const started = await new GenericContainer(images.minio())
    .withEnvironment({
      MINIO_ROOT_USER: USER,
      MINIO_ROOT_PASSWORD: PASSWORD,
      MINIO_BROWSER: 'off',
      MINIO_UPDATE: 'off',
    })
    .withCommand(['server', '/data', '--address', ':9000'])
    .withWaitStrategy(Wait.forHttp('/minio/health/ready', 9000))
    .withExposedPorts(9000)
    .start();
  return store(started, `http://${USER}:${PASSWORD}@${addressOf(started, 9000)}`, images.minio());
}

function addressOf(started: StartedTestContainer, port: number): string {
  return `${started.getHost()}:${started.getMappedPort(port)}`;
}

function store(started: StartedTestContainer, url: string, image: string): ContainerStore {
  return {
    url,
    about: `${image} in a container`,
    [Symbol.asyncDispose]: async () => void (await started.stop({ timeout: 10_000 })),
  };
}
