import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { uploadSize } from '@mayfly/client';
import { loadConfig } from '@mayfly/shared/config';
import { describe, expect, test } from 'vitest';
import { PROCESSES, settingRows } from '../../scripts/settings-table.ts';
import { containersOf, type Manifest, podOf, render } from './render.ts';

const root = resolve(import.meta.dirname, '../..');
const overlays = join(root, 'deploy/k8s/overlays');
const PROCESS_NAMES = Object.keys(PROCESSES).filter((name) => name !== 'all');
type Store = { port: number | number[]; callers: string[]; onlyIn?: string[] };
/** Those whose stores are in the cluster. */
const WITH_STORES = ['dev', 'ha'];
/** Who may call which store. */
const STORES: Record<string, Store> = {
  postgres: { port: 5432, callers: ['files', 'notes', 'janitor', 'migrate'] },
  redis: { port: 6379, callers: ['gateway', 'janitor'] },
  sentinels: { port: 26379, callers: ['gateway', 'janitor'], onlyIn: ['ha'] },
  s3: { port: [443, 9000], callers: ['files', 'janitor'] },
};

/** Node's own: whom it believes besides the authorities that it knows. */
const TRUST = 'NODE_EXTRA_CA_CERTS';

const operations = readFileSync(join(root, 'docs/operations.md'), 'utf8');
/** What comes from Secrets. */
const STORE_SECRETS: Record<string, string> = {
  DATABASE_URL: 'postgres://a@b/c',
  REDIS_URL: 'redis://a',
  S3_ACCESS_KEY: 'a',
  S3_SECRET_KEY: 'b',
};

const isMayfly = ({ metadata }: Manifest) => metadata.labels?.['app.kubernetes.io/part-of'] === 'mayfly';
const nameOf = ({ metadata }: Manifest) => metadata.name;
/** Which process a workload runs; a Job's name has the version besides. */
const processOf = (one: Manifest) => one.metadata.labels?.['app.kubernetes.io/name'] ?? '';
const isPart = (part: Record<string, string> | undefined, whole: Record<string, string> | undefined) =>
  Object.entries(part ?? {}).every(([key, value]) => whole?.[key] === value);

describe.each(readdirSync(overlays))('overlay %s', (overlay) => {
  const all = render(join(overlays, overlay));
  const of = (kind: string) => all.filter((one) => one.kind === kind);
  const pods = all.filter((one) => podOf(one));
  const processes = pods.filter(isMayfly);
  const podLabels = (one: Manifest) => podOf(one).metadata.labels as Record<string, string>;
  const containers = pods.flatMap((one) => containersOf(one).map((container) => ({ one, container })));
  const settings = all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'mayfly-settings')?.data;

  test('runs every process', () => {
    expect(processes.map(processOf).sort()).toEqual([...PROCESS_NAMES].sort());
  });

  describe('every pod', () => {
    test.each(pods.map((one) => [nameOf(one), one] as const))(
      '%s is restricted and knows nothing of the cluster',
      (_, one) => {
        const { spec } = podOf(one);
        expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
        expect(spec.securityContext.runAsUser).toBeGreaterThan(0);
        for (const forbidden of ['hostNetwork', 'hostPID', 'hostIPC']) expect(spec[forbidden]).toBeUndefined();
        for (const { name, ...volume } of spec.volumes ?? []) {
          expect(['configMap', 'secret', 'emptyDir', 'projected', 'persistentVolumeClaim'], name).toContain(
            Object.keys(volume)[0],
          );
        }
        expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      },
    );

    test.each(containers.map(({ one, container }) => [`${nameOf(one)}/${container.name}`, one, container] as const))(
      '%s: no root, no privileges, requests and limits, a fixed image',
      (_, one, container) => {
        expect(container.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.securityContext.runAsUser ?? 1).toBeGreaterThan(0);
        expect(container.securityContext.privileged).toBeUndefined();
        if (isMayfly(one)) expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
        for (const kind of ['requests', 'limits']) {
          expect(Object.keys(container.resources[kind]).sort(), kind).toEqual(['cpu', 'memory']);
        }
        expect(container.image).toMatch(/^[a-z0-9./-]+:(?!latest$)[\w.-]+$/);
      },
    );
  });

  test('every Deployment is replaced without a gap, and its pods have time for their transfers', () => {
    const drainSec = (Number(settings.DRAIN_MS) + Number(settings.DRAIN_GRACE_MS)) / 1_000;
    for (const one of of('Deployment')) {
      const { strategy, template } = one.spec;
      expect(strategy.rollingUpdate, nameOf(one)).toEqual({ maxSurge: 1, maxUnavailable: 0 });
      const answersRequests = nameOf(one) !== 'janitor';
      if (answersRequests) expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(drainSec + 10);
      const [{ startupProbe, livenessProbe, readinessProbe }] = template.spec.containers;
      expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe.httpGet)).toEqual([
        { path: '/livez', port: 'admin' },
        { path: '/livez', port: 'admin' },
        { path: '/readyz', port: 'admin' },
      ]);
      expect(template.spec.topologySpreadConstraints.length).toBeGreaterThan(0);
      for (const { matchLabelKeys } of template.spec.topologySpreadConstraints) {
        expect(matchLabelKeys, 'pods of the version before do not count').toEqual(['pod-template-hash']);
      }
    }
  });

  test('the tables are migrated once for each version, by a role of its own, whatever settings change', () => {
    const [job, ...more] = of('Job');
    expect(more).toEqual([]);
    const [container] = containersOf(job as Manifest);
    expect(nameOf(job as Manifest)).toBe(`migrate-${container.image.split(':')[1]}`);
    expect(container.envFrom).toBeUndefined();
    expect(container.env.filter(({ name }: { name: string }) => name !== TRUST)).toEqual([
      { name: 'DATABASE_URL', valueFrom: { secretKeyRef: { name: 'mayfly-migrate', key: 'url' } } },
    ]);
    const others = processes.filter((one) => one !== job).flatMap(containersOf);
    expect(JSON.stringify(others)).not.toContain('mayfly-migrate');
  });

  test('a Redis of its own keeps nothing', () => {
    for (const one of of('StatefulSet').filter((each) => nameOf(each) === 'redis')) {
      expect(one.spec.volumeClaimTemplates).toBeUndefined();
      const writable = podOf(one).spec.volumes.filter(
        ({ configMap, secret }: Manifest['spec']) => configMap === undefined && secret === undefined,
      );
      expect(writable).toEqual([{ name: 'data', emptyDir: expect.objectContaining({ medium: 'Memory' }) }]);
      const [{ args = [] }] = containersOf(one);
      const script = of('ConfigMap').find((other) => nameOf(other) === 'redis-start')?.data['redis.sh'] ?? '';
      expect(`${args.join(' ')}${script}`).toMatch(/--save {2}--appendonly no|'save ""' "appendonly no"/);
    }
  });

  describe('every name leads somewhere:', () => {
    test('selectors of workloads, services, budgets and spreads', () => {
      for (const one of [...of('Deployment'), ...of('StatefulSet')]) {
        expect(isPart(one.spec.selector.matchLabels, podLabels(one)), nameOf(one)).toBe(true);
        for (const { labelSelector } of podOf(one).spec.topologySpreadConstraints ?? []) {
          expect(isPart(labelSelector.matchLabels, podLabels(one)), nameOf(one)).toBe(true);
        }
      }
      for (const budget of of('PodDisruptionBudget')) {
        expect(pods.filter((one) => isPart(budget.spec.selector.matchLabels, podLabels(one))).map(nameOf)).toEqual([
          nameOf(budget),
        ]);
      }
      for (const service of of('Service')) {
        const behind = pods.filter((one) => isPart(service.spec.selector, podLabels(one)));
        // A set may have a service of its own for the names of its pods.
        const isOfNames = service.spec.clusterIP === 'None' && behind[0]?.spec.serviceName === nameOf(service);
        expect(
          behind.map((one) => (isOfNames ? one.spec.serviceName : nameOf(one))),
          nameOf(service),
        ).toEqual([nameOf(service)]);
        const ports = behind.flatMap(containersOf).flatMap(({ ports = [] }) => ports as { name: string }[]);
        for (const { targetPort } of service.spec.ports) expect(ports.map(({ name }) => name)).toContain(targetPort);
      }
    });

    test('what scales, and what must not go at once', () => {
      for (const { metadata, spec } of of('HorizontalPodAutoscaler')) {
        const target = all.find(
          (one) => one.kind === spec.scaleTargetRef.kind && nameOf(one) === spec.scaleTargetRef.name,
        );
        expect(target?.spec.replicas, `${metadata.name}: its number of replicas is the autoscaler's`).toBeUndefined();
        expect(target?.apiVersion).toBe(spec.scaleTargetRef.apiVersion);
        expect(spec.minReplicas).toBeGreaterThanOrEqual(2);
      }
      const scaled = of('HorizontalPodAutoscaler').map(nameOf);
      for (const one of of('Deployment')) {
        expect(one.spec.replicas ?? (scaled.includes(nameOf(one)) ? 2 : 1), nameOf(one)).toBeGreaterThanOrEqual(2);
        expect(of('PodDisruptionBudget').map(nameOf)).toContain(nameOf(one));
      }
    });

    test('what scales reaches the cores of the largest capacity in docs/operations.md', () => {
      for (const { metadata, spec } of of('HorizontalPodAutoscaler')) {
        const row = operations.split('\n').find((line) => line.startsWith(`| ${metadata.name}: `));
        const cores = Number(/\| ([\d.]+) cores: \d+ replicas[^|]*\|$/.exec(row ?? '')?.[1]);
        expect(cores, metadata.name).toBeGreaterThan(0);
        const deployment = of('Deployment').find((one) => nameOf(one) === metadata.name) as Manifest;
        const { cpu } = containersOf(deployment)[0].resources.requests;
        const [{ resource }] = spec.metrics;
        const most = (spec.maxReplicas * Number.parseInt(cpu, 10) * resource.target.averageUtilization) / 100 / 1_000;
        expect(cpu).toMatch(/^\d+m$/);
        expect(most, `${metadata.name}: cores`).toBeGreaterThanOrEqual(cores);
      }
    });

    test('accounts, maps and secrets with their keys', () => {
      const keys: Record<string, string[]> = {};
      for (const one of [...of('ConfigMap'), ...of('Secret')])
        keys[`${one.kind} ${nameOf(one)}`] = Object.keys(one.data);
      for (const { spec } of of('ExternalSecret')) {
        const { data = [], target } = spec as { data?: { secretKey: string }[]; target: Manifest['spec'] };
        const made = Object.keys(target.template?.data ?? {});
        keys[`Secret ${target.name}`] = [...data.map(({ secretKey }) => secretKey), ...made];
      }
      for (const one of processes) {
        const account = of('ServiceAccount').find((other) => nameOf(other) === podOf(one).spec.serviceAccountName);
        expect(account?.automountServiceAccountToken, nameOf(one)).toBe(false);
      }
      for (const { one, container } of containers) {
        for (const { configMapRef } of container.envFrom ?? [])
          expect(keys).toHaveProperty([`ConfigMap ${configMapRef.name}`]);
        for (const { name, valueFrom } of container.env ?? []) {
          if (!valueFrom) continue;
          const { secretKeyRef } = valueFrom;
          expect(keys[`Secret ${secretKeyRef.name}`], `${nameOf(one)} ${name}`).toContain(secretKeyRef.key);
        }
      }
    });

    test('the ways in', () => {
      const gateway = of('Service').find((one) => nameOf(one) === 'gateway');
      for (const { spec } of of('Ingress')) {
        for (const { host, http } of spec.rules) {
          for (const { backend } of http.paths)
            expect(backend.service).toEqual({ name: 'gateway', port: { name: 'http' } });
          expect(spec.tls[0].hosts).toContain(host);
          expect(settings.BASE_URL).toBe(`https://${host}`);
        }
      }
      for (const { spec } of of('HTTPRoute')) {
        for (const { backendRefs } of spec.rules) {
          expect(backendRefs).toEqual([{ name: 'gateway', port: gateway?.spec.ports[0].port }]);
        }
        expect(settings.BASE_URL).toBe(`https://${spec.hostnames[0]}`);
      }
      expect(gateway?.spec.type ?? 'ClusterIP').toBe('ClusterIP');
    });
  });

  describe('the network', () => {
    const policies = of('NetworkPolicy').map(({ metadata, spec }) => ({ name: metadata.name, spec }));
    const selects = ({ matchLabels, matchExpressions = [] }: Manifest['spec'], labels: Record<string, string>) =>
      isPart(matchLabels, labels) &&
      matchExpressions.every(({ key, operator, values }: { key: string; operator: string; values: string[] }) => {
        expect(operator).toBe('In');
        return values.includes(labels[key] ?? '');
      });
    const about = (one: Manifest) => policies.filter(({ spec }) => selects(spec.podSelector, podLabels(one)));
    const rules = (one: Manifest, way: 'ingress' | 'egress') => about(one).flatMap(({ spec }) => spec[way] ?? []);

    test('lets nothing through that no policy names', () => {
      for (const one of pods) {
        const types = new Set(about(one).flatMap(({ spec }) => spec.policyTypes));
        expect([...types].sort(), nameOf(one)).toEqual(['Egress', 'Ingress']);
      }
    });

    test('nobody is reached from everywhere, and the gateway on its public port by the namespaces of proxies', () => {
      for (const one of pods) {
        for (const { from } of rules(one, 'ingress')) expect(from?.length, nameOf(one)).toBeGreaterThan(0);
      }
      const gateway = processes.find((one) => processOf(one) === 'gateway') as Manifest;
      const ways = rules(gateway, 'ingress').filter(({ ports }) =>
        ports.some(({ port }: { port: string }) => port === 'http'),
      );
      expect(ways).toEqual([
        {
          from: [{ namespaceSelector: { matchLabels: { 'mayfly/way-in': 'yes' } } }],
          ports: [{ protocol: 'TCP', port: 'http' }],
        },
      ]);
    });

    test('stores have addresses of both families', () => {
      const blocks = ['files', 'janitor', 'gateway'].flatMap((name) => {
        const one = processes.find((process) => processOf(process) === name) as Manifest;
        return rules(one, 'egress')
          .filter(({ ports }) => ports.every(({ port }: { port: number }) => port !== 53))
          .map(({ to }) => (to as { ipBlock?: { cidr: string } }[]).flatMap(({ ipBlock }) => ipBlock?.cidr ?? []));
      });
      for (const cidrs of blocks.filter(({ length }) => length > 0)) {
        expect(cidrs.some((cidr) => cidr.includes('.'))).toBe(true);
        expect(cidrs.some((cidr) => cidr.includes(':'))).toBe(true);
      }
      expect(blocks.flat().length > 0).toBe(!WITH_STORES.includes(overlay));
    });

    test.each(PROCESS_NAMES)(
      '%s calls its stores, names, monitoring and what it hands requests to, and nobody else',
      (name) => {
        const process = processes.find((one) => processOf(one) === name) as Manifest;
        const allowed = [53, 4317, 4318, ...(name === 'gateway' ? [3001, 3002] : [])];
        const ports = new Set<number>();
        for (const rule of rules(process, 'egress')) {
          expect(rule.to?.length, 'a rule names its peers').toBeGreaterThan(0);
          for (const { port } of rule.ports) ports.add(port);
        }
        for (const { port, callers, onlyIn } of Object.values(STORES)) {
          const found = [port].flat().filter((one) => ports.has(one));
          const isCalled = callers.includes(name) && (onlyIn?.includes(overlay) ?? true);
          expect(found.length, `port ${port}`).toBe(isCalled ? 1 : 0);
          allowed.push(...found);
        }
        expect([...ports].filter((port) => !allowed.includes(port))).toEqual([]);
      },
    );

    test('services are reached by the gateway only', () => {
      for (const name of ['files', 'notes']) {
        const one = processes.find((process) => processOf(process) === name) as Manifest;
        const peers = rules(one, 'ingress')
          .filter(({ ports }) => ports[0].port === 'http')
          .flatMap(({ from }) => from);
        expect(peers).toEqual([
          {
            podSelector: {
              matchLabels: { 'app.kubernetes.io/name': 'gateway', 'app.kubernetes.io/part-of': 'mayfly' },
            },
          },
        ]);
      }
    });
  });

  describe('settings', () => {
    const fromImage = namesInImage();
    const known = settingRows().map(({ name }) => name);
    const set = new Set([
      ...Object.keys(settings),
      ...processes.flatMap(containersOf).flatMap(({ env = [] }) => (env as { name: string }[]).map(({ name }) => name)),
    ]);

    test('every one that a process reads is set', () => {
      const missing = known.filter((name) => !set.has(name) && !fromImage.includes(name));
      expect(
        missing,
        'Add NAME=value to deploy/k8s/base/settings.env (empty for none). A secret belongs into a Secret (components/external-secrets, ' +
          'overlays/dev) and the env of the Deployments that read it, as DATABASE_URL does.',
      ).toEqual([]);
    });

    test('none is set that no process reads', () => {
      expect(
        [...set].filter((name) => !known.includes(name) && name !== TRUST),
        'Take it out of deploy/k8s/base/settings.env or the env of the Deployment, or add it to the settings of the service that reads it.',
      ).toEqual([]);
    });

    test('limits are those that Mayfly has everywhere, and a file of 2 GiB passes', () => {
      const fallbacks = Object.values(PROCESSES)
        .flatMap((read) => Object.entries(read))
        .filter(([name, { fallback }]) => fallback !== undefined && /_(SIZE|BYTES|SEC|MAX|MIN|OPTIONS)$/.test(name));
      expect(fallbacks.length).toBeGreaterThan(20);
      for (const [name, { fallback }] of fallbacks) expect(settings[name], name).toBe(String(fallback));
      const { MAX_FILE_SIZE } = loadConfig(PROCESSES.files ?? {}, { ...settings, ...STORE_SECRETS }) as {
        MAX_FILE_SIZE: number;
      };
      const file = { name: 'a.iso', size: 2 * 1024 ** 3, stream: () => new Blob([]).stream() };
      expect(uploadSize([file])).toBeGreaterThan(file.size);
      expect(MAX_FILE_SIZE).toBeGreaterThanOrEqual(uploadSize([file]));
    });

    test.each(PROCESS_NAMES)('%s starts with them', (name) => {
      const [container] = containersOf(processes.find((one) => processOf(one) === name) as Manifest);
      const own = container.env.map(({ name, value }: { name: string; value?: string }) => [
        name,
        value ?? STORE_SECRETS[name],
      ]);
      const config = loadConfig(PROCESSES[name] ?? {}, { ...settings, ...Object.fromEntries(own) });
      const { PORT, ADMIN_PORT } = config as { PORT?: number; ADMIN_PORT?: number };
      const ports = (container.ports ?? []) as { name: string; containerPort: number }[];
      expect(ports.find((port) => port.name === 'http')?.containerPort).toBe(PORT);
      if (name !== 'migrate') expect(ports.find((port) => port.name === 'admin')?.containerPort).toBe(ADMIN_PORT);
    });
  });
});

test('the component for notices lets the janitor call public addresses, on one port', () => {
  const [policy, ...more] = render(join(root, 'deploy/k8s/components/notices'));
  expect(more).toEqual([]);
  expect(policy?.spec.podSelector.matchLabels).toEqual({
    'app.kubernetes.io/name': 'janitor',
    'app.kubernetes.io/part-of': 'mayfly',
  });
  expect(policy?.spec.policyTypes).toEqual(['Egress']);
  const [{ to, ports }, ...others] = policy?.spec.egress ?? [];
  expect([ports, others]).toEqual([[{ protocol: 'TCP', port: 443 }], []]);
  for (const network of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8']) {
    expect(to[0].ipBlock.except).toContain(network);
  }
});

/** What the image itself sets: where its web pages lie is nobody else's affair. */
function namesInImage(): string[] {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8').replaceAll(/\\\n/g, ' ');
  return text
    .split('\n')
    .filter((line) => line.startsWith('ENV '))
    .flatMap((line) => [...line.matchAll(/(\w+)=/g)].map(([, name = '']) => name));
}
