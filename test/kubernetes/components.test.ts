import { resolve } from 'node:path';
import { loadConfig } from '@mayfly/shared/config';
import { blobSettings } from '@mayfly/shared/settings';
import { keySource } from '@mayfly/store/s3/temporary-keys';
import { describe, expect, test } from 'vitest';
import { containersOf, kubectl, type Manifest, podOf, render, renderByKubectl } from './render.ts';
import { problemsOf } from './schemas.ts';

const folder = resolve(import.meta.dirname, 'every-component');
const tokens = resolve(import.meta.dirname, 'workload-identity');
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
    podOf(one).spec.volumes.pop();
    container.volumeMounts.pop();
    expect(one).toEqual(plain[index]);
  }
});

describe('workload-identity', () => {
  const all = render(tokens);
  const settings = all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'mayfly-settings')?.data;

  test('holds only what the API knows', async () => {
    expect((await Promise.all(all.map(problemsOf))).flat()).toEqual([]);
  });

  test.skipIf(!kubectl)('is rendered by kubectl in the same way (skipped where there is no kubectl)', () => {
    expect([...all].sort(byName)).toEqual(renderByKubectl(tokens).sort(byName));
  });

  test('gives files and janitor, and nobody else, a token for S3, where the settings say that it is', () => {
    const holders = all.filter((one) => podOf(one) && JSON.stringify(one).includes('serviceAccountToken'));
    expect(holders.map(nameOf)).toEqual(['Deployment files', 'Deployment janitor']);
    for (const one of holders) {
      const volume = podOf(one).spec.volumes.find(({ name }: { name: string }) => name === 's3-token');
      const mount = containersOf(one)[0].volumeMounts.find(({ name }: { name: string }) => name === 's3-token');
      const [{ serviceAccountToken }] = volume.projected.sources;
      expect(settings.AWS_WEB_IDENTITY_TOKEN_FILE).toBe(`${mount.mountPath}/${serviceAccountToken.path}`);
    }
  });

  test('needs no Secret for S3', () => {
    const own = Object.entries(settings as Record<string, string>).filter(([name]) => name in blobSettings);
    expect(keySource(loadConfig(blobSettings, Object.fromEntries(own)))).toBeDefined();
    for (const { name, valueFrom } of all.flatMap(containersOf).flatMap(({ env }) => env)) {
      if (/^S3_.*KEY$/.test(name)) expect(valueFrom.secretKeyRef.optional, name).toBe(true);
    }
  });
});
