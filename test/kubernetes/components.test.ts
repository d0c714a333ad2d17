import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { containersOf, kubectl, type Manifest, podOf, render, renderByKubectl } from './render.ts';
import { problemsOf } from './schemas.ts';

const folder = resolve(import.meta.dirname, 'every-component');
const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
const byName = (a: Manifest, b: Manifest) => nameOf(a).localeCompare(nameOf(b));

test('components that no overlay has fit together, and hold only what the API knows', async () => {
  const all = render(folder);
  expect((await Promise.all(all.map(problemsOf))).flat()).toEqual([]);
  expect(new Set(all.map(nameOf)).size).toBe(all.length);
});

test.skipIf(!kubectl)('kubectl renders them in the same way (skipped where there is no kubectl)', () => {
  expect(render(folder).sort(byName)).toEqual(renderByKubectl(folder).sort(byName));
});

test('every process of Mayfly trusts the authority of the bundle, and nothing else about it changes', () => {
  const plain = render(resolve(folder, '../../../deploy/k8s/overlays/production')).filter((one) => podOf(one));
  const trusting = render(folder).filter((one) => podOf(one));
  expect(trusting.map(nameOf)).toEqual(plain.map(nameOf));
  for (const [index, one] of trusting.entries()) {
    const [container] = containersOf(one);
    const [volume] = podOf(one).spec.volumes;
    const [mount] = container.volumeMounts;
    expect([volume.name, volume.configMap.name]).toEqual([mount.name, 'mayfly-ca']);
    const added = container.env.pop();
    expect(added).toEqual({ name: 'NODE_EXTRA_CA_CERTS', value: `${mount.mountPath}/ca.crt` });
    delete podOf(one).spec.volumes;
    delete container.volumeMounts;
    expect(one).toEqual(plain[index]);
  }
});
