import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selfSigned } from '@mayfly/testing/certificate';
import { freshFolder } from '@mayfly/testing/stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { render } from '../kubernetes/render.ts';
import { docker, isWanted, root } from './project.ts';

// TEST_COMPOSE=yes npm test -- test/compose/redis: the scripts of deploy/k8s/overlays/ha, in containers that are named as its pods are.

const PODS = ['redis-0', 'redis-1', 'redis-2'];
const PASSWORD = 'try-out';
/** A process of Mayfly as far as Redis goes: it counts ten times a second, and says who the primary is when it can. */
const COUNTER = `
  import { openRedis } from '/app/libs/shared/src/redis.ts';
  const logger = { info() {}, warn() {} };
  const { redis } = openRedis({ REDIS_URL: process.env.REDIS_URL, REDIS_TIMEOUT_MS: 500 }, 'commands', logger);
  setInterval(async () => {
    try {
      const count = await redis.incr('mayfly:count');
      console.log(JSON.stringify({ count, run: /run_id:(\\w+)/.exec(await redis.info('server'))[1] }));
    } catch {
      console.log('{}');
    }
  }, 100);
`;

describe.skipIf(!isWanted)('Redis with Sentinels, as deploy/k8s/overlays/ha has it', { timeout: 300_000 }, () => {
  const name = `mayfly-test-${randomBytes(4).toString('hex')}`;
  const stack = new AsyncDisposableStack();
  const all = render(join(root, 'deploy/k8s/overlays/ha'));
  const find = (kind: string, called: string) =>
    all.find((one) => one.kind === kind && one.metadata.name === called) as (typeof all)[number];
  const { dnsNames } = find('Certificate', 'redis').spec;
  const url = find('ExternalSecret', 'mayfly-redis').spec.target.template.data.url.replace('{{ .password }}', PASSWORD);
  const { containers, securityContext } = find('StatefulSet', 'redis').spec.template.spec;
  let folder: string;

  async function start(pod: string) {
    const data = join(folder, pod);
    mkdirSync(data, { recursive: true });
    chmodSync(data, 0o777); // the container's own user writes there
    const common = [
      ['--user', `${securityContext.runAsUser}:${securityContext.runAsGroup}`],
      ['--env', `REDISCLI_AUTH=${PASSWORD}`],
      ['--volume', `${folder}/tls:/tls:ro`],
      ['--volume', `${folder}/start:/start:ro`],
      ['--volume', `${data}:/data`],
    ].flat();
    for (const { name: part, image, command } of containers) {
      const place =
        part === 'redis'
          ? ['--network', name, '--hostname', pod, '--network-alias', `${pod}.redis`]
          : ['--network', `container:${name}-${pod}-redis`];
      const id = `${name}-${pod}-${part}`;
      await docker(
        'run',
        '-d',
        '--restart',
        'on-failure',
        '--read-only',
        '--name',
        id,
        ...place,
        ...common,
        image,
        ...command,
      );
    }
  }
  const remove = (pod: string) => docker('rm', '-f', '-v', `${name}-${pod}-sentinel`, `${name}-${pod}-redis`);
  /** What the counter has said lately. */
  async function counted(): Promise<{ count?: number; run?: string }[]> {
    const lines = await docker('logs', '--tail', '20', `${name}-counter`);
    return lines.split('\n').map((line) => JSON.parse(line || '{}'));
  }
  /** The last that it said, once it counts. */
  async function counting() {
    await expect
      .poll(async () => (await counted()).slice(-5).every(({ count }) => count !== undefined), { timeout: 60_000 })
      .toBe(true);
    return (await counted()).at(-1) as { count: number; run: string };
  }
  const askAt = async (pod: string, ...command: string[]) =>
    docker(
      'exec',
      `${name}-${pod}-redis`,
      'redis-cli',
      '--tls',
      '--cacert',
      '/tls/ca.crt',
      '-h',
      `${pod}.redis`,
      ...command,
    );
  async function primary(): Promise<string> {
    for (const pod of PODS) {
      const role = await askAt(pod, 'info', 'replication').catch(() => '');
      if (/role:master.*connected_slaves:[12]/s.test(role)) return pod;
    }
    return 'none';
  }

  beforeAll(async () => {
    folder = stack.use(await freshFolder()).path;
    chmodSync(folder, 0o755);
    const { cert, key } = selfSigned(...(dnsNames as [string, ...string[]]));
    mkdirSync(join(folder, 'tls'));
    for (const [file, text] of Object.entries({ 'tls.crt': cert, 'ca.crt': cert, 'tls.key': key })) {
      writeFileSync(join(folder, 'tls', file), text, { mode: 0o644 });
    }
    mkdirSync(join(folder, 'start'));
    for (const [file, text] of Object.entries(find('ConfigMap', 'redis-start').data)) {
      writeFileSync(join(folder, 'start', file), text as string);
    }
    const image = `${name}:local`;
    await docker('build', '-q', '-t', image, '.');
    stack.defer(() => docker('image', 'rm', '-f', image).then(() => {}));
    await docker('network', 'create', name);
    stack.defer(() => docker('network', 'rm', name).then(() => {}));
    for (const pod of PODS) stack.defer(() => remove(pod).then(() => {}));
    await Promise.all(PODS.map(start));
    stack.defer(() => docker('rm', '-f', `${name}-counter`).then(() => {}));
    const environment = ['--env', `REDIS_URL=${url}`, '--env', 'NODE_EXTRA_CA_CERTS=/tls/ca.crt'];
    await docker(
      ...['run', '-d', '--name', `${name}-counter`, '--network', name, '--volume', `${folder}/tls:/tls:ro`],
      ...[...environment, image, 'node', '--input-type=module', '--eval', COUNTER],
    );
  }, 300_000);
  afterAll(() => stack.disposeAsync(), 120_000);

  test('one is the primary, two copy it, and three Sentinels know of each other', async () => {
    await expect.poll(primary, { timeout: 60_000 }).toBe('redis-0');
    await counting();
    for (const pod of PODS) {
      const others = () => askAt(pod, '-p', '26379', 'sentinel', 'sentinels', 'mayfly');
      await expect.poll(async () => (await others()).match(/^name$/gm)?.length, { timeout: 30_000 }).toBe(2);
    }
    expect(await askAt('redis-0', 'config', 'get', 'save')).toBe('save');
    expect(await askAt('redis-0', 'config', 'get', 'appendonly')).toBe('appendonly\nno');
  });

  test('when the primary’s machine is gone another one takes over, with what was counted, and a process goes on with it', async () => {
    await expect
      .poll(async () => (await askAt('redis-0', 'info', 'replication')).match(/state=online/g)?.length)
      .toBe(2);
    const before = await counting();
    const since = Date.now();
    await remove('redis-0');
    await expect
      .poll(async () => (await counted()).at(-1)?.run ?? before.run, { timeout: 60_000, interval: 200 })
      .not.toBe(before.run);
    const tookMs = Date.now() - since;
    const after = await counting();
    expect(after.count).toBeGreaterThan(before.count);
    console.log(`Redis with Sentinels: counting goes on ${(tookMs / 1000).toFixed(1)} s after the primary was gone`);
    expect(tookMs).toBeLessThan(20_000);
  });

  test('the one that was gone comes back as a copy, at another address, and can take over in turn', async () => {
    const second = await primary();
    expect(['redis-1', 'redis-2']).toContain(second);
    await start('redis-0');
    const role = async () => (await askAt('redis-0', 'info', 'replication').catch(() => '')).replaceAll('\r', '');
    await expect
      .poll(role, { timeout: 60_000 })
      .toMatch(/role:slave\nmaster_host:redis-[12]\.redis.*master_link_status:up/s);
    expect(await primary()).toBe(second);
    const before = await counting();
    await remove(second);
    await start(second);
    await expect
      .poll(async () => (await counted()).at(-1)?.run ?? before.run, { timeout: 60_000, interval: 200 })
      .not.toBe(before.run);
    await counting();
  });
});
