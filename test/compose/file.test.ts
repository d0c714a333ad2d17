import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { settingRows } from '../../scripts/settings-table.ts';

// What can be said about docker-compose.yml without starting it.

const root = resolve(import.meta.dirname, '../..');
const plain = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const over = readFileSync(join(root, 'deploy/compose/two-gateways.yaml'), 'utf8');
const file = parse(plain, { merge: true });
const twoGateways = parse(over, { logLevel: 'error' }); // !reset is Compose's own
// biome-ignore lint/suspicious/noExplicitAny: docker compose itself checks the shape
const services = Object.entries<any>({ ...twoGateways.services, ...file.services });
const own = services.filter(([, { image }]) => image.includes('mayfly:local'));
const settings = settingRows().map(({ name }) => name);
const RUN_ONCE = ['migrate', 'secrets'];

describe.each(services)('%s', (name, service) => {
  test('has limits, few privileges, a bounded log and an image of a fixed version behind a variable', () => {
    expect(service.deploy.resources.limits).toEqual({
      cpus: expect.any(String),
      memory: expect.any(String),
      pids: expect.any(Number),
    });
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.privileged).toBeUndefined();
    expect(service.logging.options).toHaveProperty('max-size');
    expect(service.image).toMatch(/^\$\{[A-Z]+_IMAGE:-[\w./-]+:(?!latest\})[\w.-]+\}$/);
  });

  test('mounts only what is in the repository, or a volume that is named', () => {
    for (const mount of (service.volumes ?? []) as string[]) {
      const [source = ''] = mount.split(':');
      if (source.startsWith('./deploy/observability/') && !existsSync(join(root, 'deploy/observability'))) continue;
      if (source.startsWith('.')) expect(existsSync(join(root, source)), source).toBe(true);
      else expect(Object.keys(file.volumes), source).toContain(source);
    }
  });

  test('publishes nothing to other machines by itself', () => {
    const published = (service.ports ?? []) as string[];
    for (const port of published) expect(port).toMatch(/^(127\.0\.0\.1|\$\{PUBLISH_ADDRESS:-127\.0\.0\.1\}):/);
    if (published.length > 0) expect(['gateway', 'grafana', 'balancer']).toContain(name);
  });
});

describe.each(own)('%s, of the image', (name, service) => {
  test('cannot write to its files, and gets its settings under their names', () => {
    expect(service.read_only).toBe(true);
    for (const key of Object.keys(service.environment ?? {})) expect(settings).toContain(key.replace(/_FILE$/, ''));
    const [program, main] = service.command;
    expect(program).toBe('node');
    if (!main.startsWith('/')) expect(existsSync(join(root, main)), main).toBe(true);
  });

  test('says when it is ready, or ends', () => {
    if (RUN_ONCE.includes(name)) expect(service.healthcheck).toEqual({ disable: true });
    else expect(service.healthcheck.test.join(' ')).toContain('/readyz');
  });
});

test('with two gateways the balancer has their port, waits as long as they do, and asks their admin port in less than DRAIN_MS', () => {
  const { gateway, balancer } = twoGateways.services;
  expect([gateway.ports, gateway.deploy]).toEqual([[], { replicas: 2 }]);
  expect(over).toContain('ports: !reset []');
  expect(balancer.ports).toEqual(file.services.gateway.ports);
  expect(balancer.stop_grace_period).toBe(file.services.gateway.stop_grace_period);
  const config = readFileSync(join(root, 'deploy/proxy/haproxy.cfg'), 'utf8');
  const [, port, intervalMs, falls] = /check port (\d+) inter (\d+)ms .*fall (\d+)/.exec(config) ?? [];
  expect(port).toBe(file.services.gateway.environment.ADMIN_PORT);
  const drainMs = Number(/:-(\d+)\}/.exec(file.services.gateway.environment.DRAIN_MS)?.[1]);
  expect(Number(intervalMs) * Number(falls)).toBeLessThan(drainMs / 2);
  expect(config).toContain('retry-on conn-failure\n');
});

test('with IPv6 every process that listens does so by it, on every network', () => {
  const ipv6 = parse(readFileSync(join(root, 'deploy/compose/ipv6.yaml'), 'utf8'));
  const listening = own.filter(([, { environment }]) => environment?.HOST).map(([name]) => name);
  expect(listening.length).toBeGreaterThan(3);
  expect(ipv6.services).toEqual(
    Object.fromEntries(listening.map((name) => [name, { environment: { HOST: '::', ADMIN_HOST: '::' } }])),
  );
  expect(Object.keys(ipv6.networks)).toEqual(Object.keys(file.networks));
});

test('Redis keeps nothing: neither on a volume nor by itself', () => {
  const { redis } = file.services;
  expect(redis.tmpfs).toEqual(['/data']);
  expect(redis.volumes).toEqual(['redis-secrets:/run/mayfly/redis:ro']);
  expect(file.volumes).not.toHaveProperty('redis-data');
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-secrets-'));
  try {
    execFileSync(process.execPath, [join(root, 'deploy/compose/make-secrets.mjs'), folder]);
    const lines = readFileSync(join(folder, 'redis/redis.conf'), 'utf8').split('\n');
    expect(lines).toEqual(expect.arrayContaining(['save ""', 'appendonly no']));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('no password is in the file', () => {
  for (const [name, { environment = {} }] of services) {
    for (const [key, value] of Object.entries(environment)) {
      if (/PASSWORD|SECRET|KEY|_URL_FILE/.test(key))
        expect(value, `${name} ${key}`).toMatch(/^\/run\/mayfly\/|^\$\{\w+:-\}$/);
    }
  }
});

test('a process has time to finish what runs', () => {
  const seconds = (value: string) => Number.parseInt(value, 10) * (value.endsWith('m') ? 60 : 1);
  const fallback = (value: string) => Number(/:-(\d+)\}/.exec(value)?.[1]);
  for (const [name, { environment, stop_grace_period: grace }] of own) {
    if (!environment?.DRAIN_MS) continue;
    const drainMs = fallback(environment.DRAIN_MS) + fallback(environment.DRAIN_GRACE_MS);
    expect(seconds(grace) * 1_000, name).toBeGreaterThan(drainMs + 10_000);
  }
});

test('every variable is a setting, or described in docs/operations.md', () => {
  const variables = new Set([...`${plain}${over}`.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name = '']) => name));
  const described = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  expect([...variables].filter((name) => !settings.includes(name) && !described.includes(`\`${name}\``))).toEqual([]);
});
