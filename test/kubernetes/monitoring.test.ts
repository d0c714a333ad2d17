import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { dashboardMaps, dashboards, MONITORING, prometheusRule } from '../../deploy/observability/dashboards.ts';
import { containersOf, type Manifest, podOf, render } from './render.ts';
import { problemsOf } from './schemas.ts';

const root = resolve(import.meta.dirname, '../..');
const all = render(MONITORING);
const of = (kind: string) => all.filter((one) => one.kind === kind);

test('holds only what the API knows', async () => {
  expect((await Promise.all(all.map(problemsOf))).flat()).toEqual([]);
  const [monitor] = structuredClone(of('PodMonitor')) as [Manifest];
  monitor.spec.podMetricsEndpoint = [];
  expect(await problemsOf(monitor)).toEqual([expect.stringContaining('podMetricsEndpoint is not a field')]);
});

test('is written from the rules and dashboards that every other Prometheus and Grafana gets', () => {
  const advice = 'node deploy/observability/dashboards.ts writes it';
  expect(readFileSync(join(MONITORING, 'rules.yaml'), 'utf8'), advice).toBe(prometheusRule());
  expect(readFileSync(join(MONITORING, 'dashboards.yaml'), 'utf8'), advice).toBe(dashboardMaps());
  const rules = parse(readFileSync(join(root, 'deploy/observability/rules/mayfly.yaml'), 'utf8'));
  expect(of('PrometheusRule').map(({ spec }) => spec)).toEqual([rules]);
  for (const { uid } of dashboards) {
    const map = of('ConfigMap').find(({ metadata }) => metadata.name === uid);
    const stored = readFileSync(join(root, `deploy/observability/grafana/dashboards/${uid}.json`), 'utf8');
    expect(map?.data).toEqual({ [`${uid}.json`]: stored });
    expect(stored.length, 'kubectl apply keeps a copy in an annotation').toBeLessThan(200_000);
  }
});

test('asks every process, by its admin port, and names the job as the rules do', () => {
  const [{ spec }] = of('PodMonitor') as [Manifest];
  const pods = render(join(root, 'deploy/k8s/overlays/production')).filter((one) => podOf(one));
  const [{ key, values }] = spec.selector.matchExpressions;
  const asked = pods.filter((one) => !values.includes(podOf(one).metadata.labels[key]));
  expect(asked.map(({ metadata }) => metadata.name).sort()).toEqual(['files', 'gateway', 'janitor', 'notes']);
  for (const one of asked) {
    expect(podOf(one).metadata.labels).toMatchObject(spec.selector.matchLabels);
    expect(podOf(one).metadata.labels[spec.jobLabel]).toBe('mayfly');
    const ports = containersOf(one).flatMap(({ ports }) => ports as { name: string }[]);
    expect(ports.map(({ name }) => name)).toContain(spec.podMetricsEndpoints[0].port);
  }
});
