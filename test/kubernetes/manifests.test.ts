import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kubectl, type Manifest, render, renderByKubectl } from './render.ts';
import { problemsOf } from './schemas.ts';

const overlays = resolve(import.meta.dirname, '../../deploy/k8s/overlays');
const names = readdirSync(overlays);
const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
const byName = (a: Manifest, b: Manifest) => nameOf(a).localeCompare(nameOf(b));

console.log(
  kubectl
    ? `Kubernetes manifests: rendered by this project's own renderer, and compared with ${kubectl} kustomize`
    : "Kubernetes manifests: rendered by this project's own renderer; there is no kubectl to compare it with",
);

describe.each(names)('overlay %s', (name) => {
  const folder = join(overlays, name);
  const manifests = render(folder);

  test('holds only what the Kubernetes API knows, and everything that it asks for', async () => {
    const problems = await Promise.all(
      manifests.map(async (one) => (await problemsOf(one)).map((problem) => `${nameOf(one)}: ${problem}`)),
    );
    expect(problems.flat()).toEqual([]);
    expect(manifests.length).toBeGreaterThan(25);
  });

  test('has no two objects of one name', () => {
    expect(new Set(manifests.map(nameOf)).size).toBe(manifests.length);
  });

  test.skipIf(!kubectl)('is rendered by kubectl in the same way (skipped where there is no kubectl)', () => {
    expect([...manifests].sort(byName)).toEqual(renderByKubectl(folder).sort(byName));
  });
});

/** Where a hand slips: the object, the path of the field, and what stands there then. */
type Slip = [what: string, kind: string, path: string, value: unknown, problem: RegExp];
const POD = 'spec/template/spec';

describe('the check finds', () => {
  test.each<Slip>([
    ['a field that is not there', 'Deployment files', `${POD}/container`, [], /container is not a field/],
    [
      'a field at the wrong level',
      'Deployment files',
      `${POD}/readOnlyRootFilesystem`,
      true,
      /RootFilesystem is not a field/,
    ],
    [
      'a mistyped field in a list',
      'Deployment files',
      `${POD}/containers/0/readinesProbe`,
      {},
      /0\/readinesProbe is not a field/,
    ],
    ['text for a number', 'Deployment files', 'spec/minReadySeconds', '5', /minReadySeconds must be integer/],
    ['a number for text', 'Deployment files', `${POD}/containers/0/env/0/value`, 3001, /env\/0\/value must be string/],
    ['a required field that is missing', 'Deployment files', 'spec/selector', undefined, /required property selector/],
    [
      'a bad quantity',
      'Deployment files',
      `${POD}/containers/0/resources/limits/memory`,
      '512 MB',
      /limits\/memory must match/,
    ],
    [
      'a version that is not there',
      'HorizontalPodAutoscaler files',
      'apiVersion',
      'autoscaling/v2beta9',
      /there is no/,
    ],
    ['a kind that is not there', 'HorizontalPodAutoscaler files', 'kind', 'HorizontalPodScaler', /there is no/],
    ['a mistyped field at the top', 'ConfigMap mayfly-settings', 'dataa', {}, /dataa is not a field/],
    ['a mistyped field of a policy', 'NetworkPolicy mayfly-gateway', 'spec/egress/0/too', [], /too is not a field/],
    ['a mistyped field of a route', 'HTTPRoute mayfly', 'spec/rules/0/timeout', {}, /timeout is not a field/],
    [
      'a mistyped field of an external secret',
      'ExternalSecret mayfly-s3',
      'spec/data/0/field',
      'x',
      /field is not a field/,
    ],
    [
      'a mistyped field of a cluster',
      'Cluster postgres',
      'spec/postgresql/synchronus',
      {},
      /synchronus is not a field/,
    ],
    ['a bad way to be synchronous', 'Cluster postgres', 'spec/postgresql/synchronous/method', 'some', /method must be/],
    ['a mistyped field of a certificate', 'Certificate redis', 'spec/dnsName', [], /dnsName is not a field/],
    ['a mistyped field of a generator', 'Password mayfly', 'spec/lenght', 4, /lenght is not a field/],
  ])('%s', async (_, object, path, value, problem) => {
    const all = ['production-gateway-api', 'ha'].flatMap((name) => render(join(overlays, name)));
    const manifest = all.find((one) => nameOf(one) === object);
    expect(manifest && (await problemsOf(manifest))).toEqual([]);
    const steps = path.split('/');
    const last = steps.pop() ?? '';
    // biome-ignore lint/suspicious/noExplicitAny: any place of any object
    const place = steps.reduce((inner: any, step) => inner[step], manifest);
    if (value === undefined) delete place[last];
    else place[last] = value;
    expect(await problemsOf(manifest as Manifest)).toEqual([expect.stringMatching(problem)]);
  });
});
