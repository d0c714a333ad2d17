import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { selfSigned } from '@mayfly/testing/certificate';
import { freshFolder } from '@mayfly/testing/stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { render } from '../kubernetes/render.ts';
import { docker, isWanted, root } from './project.ts';

// TEST_COMPOSE=yes npm test -- test/compose/minio: the MinIO of deploy/k8s/overlays/ha, in containers that are named as its pods are.

/** As files does it: stores a payload, reads it and the one that was stored first, and says how each went. */
const FILES = `
  import { randomUUID } from 'node:crypto';
  import { buffer } from 'node:stream/consumers';
  import { openS3Blobs } from '/app/libs/store/src/s3/blobs.ts';
  const [first] = process.argv.slice(1);
  const blobs = openS3Blobs({ S3_ENDPOINT: process.env.S3_ENDPOINT, S3_REGION: 'us-east-1', S3_BUCKET: 'mayfly', S3_PATH_STYLE: 'true',
    S3_ACCESS_KEY: 'mayfly', S3_SECRET_KEY: process.env.SECRET });
  const one = async function* () { yield Buffer.from('one'); };
  const attempt = async (work) => work().catch(({ name }) => name);
  const read = (id) => attempt(async () => String(await buffer(await blobs.open(id, 3))));
  if (!first) await blobs.create();
  const id = randomUUID();
  const put = await attempt(() => blobs.put(id, one(), 3, new AbortController().signal).then(() => 'stored'));
  console.log(JSON.stringify({ id, put, read: await read(first || id) }));
  process.exit();
`;

describe.skipIf(!isWanted)('MinIO on six nodes, as deploy/k8s/overlays/ha has it', { timeout: 300_000 }, () => {
  const name = `mayfly-test-${randomBytes(4).toString('hex')}`;
  const stack = new AsyncDisposableStack();
  const all = render(join(root, 'deploy/k8s/overlays/ha'));
  const find = (kind: string, called: string) =>
    all.find((one) => one.kind === kind && one.metadata.name === called) as (typeof all)[number];
  const set = find('StatefulSet', 'minio').spec;
  const { containers, securityContext, volumes } = set.template.spec;
  const [{ image, args, env }] = containers;
  const { S3_ENDPOINT } = find('ConfigMap', 'mayfly-settings').data;
  const nodes = Array.from({ length: set.replicas as number }, (_, index) => `minio-${index}`);
  const secret = randomBytes(20).toString('hex');
  const own = `${name}:local`;
  let folder: string;

  async function start(node: string) {
    const data = join(folder, node);
    mkdirSync(data);
    chmodSync(data, 0o777); // the container's own user writes there
    const settings = (env as { name: string; value?: string }[])
      .map(({ name: key, value }) => `${key}=${value ?? (key.endsWith('USER') ? 'mayfly' : secret)}`)
      .flatMap((setting) => ['--env', setting]);
    await docker(
      ...['run', '-d', '--name', `${name}-${node}`, '--network', name, '--hostname', node],
      ...['--network-alias', `${node}.minio-nodes`, '--network-alias', new URL(S3_ENDPOINT).hostname],
      ...['--user', `${securityContext.runAsUser}:${securityContext.runAsGroup}`, ...settings],
      ...['--volume', `${folder}/certs:/certs:ro`, '--volume', `${data}:/data`, image, ...args],
    );
  }
  async function files(first = ''): Promise<{ id: string; put: string; read: string }> {
    const place = ['--env', `S3_ENDPOINT=${S3_ENDPOINT}`, '--env', `SECRET=${secret}`];
    const trust = ['--env', 'NODE_EXTRA_CA_CERTS=/certs/CAs/ca.crt', '--volume', `${folder}/certs:/certs:ro`];
    const node = ['node', '--input-type=module', '--eval', FILES, '--', first];
    return JSON.parse(await docker('run', '--rm', '--network', name, ...place, ...trust, own, ...node));
  }
  const outcome = async (first: string) => {
    const { put, read } = await files(first);
    return { put, read };
  };

  beforeAll(async () => {
    folder = stack.use(await freshFolder()).path;
    chmodSync(folder, 0o755);
    const { cert, key } = selfSigned(...find('Certificate', 'minio').spec.dnsNames);
    const texts: Record<string, string> = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': cert };
    for (const item of volumes[0].secret.items as { key: string; path: string }[]) {
      const path = join(folder, 'certs', item.path);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, texts[item.key] ?? '');
    }
    await docker('build', '-q', '-t', own, '.');
    stack.defer(() => docker('image', 'rm', '-f', own).then(() => {}));
    await docker('network', 'create', name);
    stack.defer(() => docker('network', 'rm', name).then(() => {}));
    for (const node of nodes) stack.defer(() => docker('rm', '-f', '-v', `${name}-${node}`).then(() => {}));
    await Promise.all(nodes.map(start));
  }, 300_000);
  afterAll(() => stack.disposeAsync(), 120_000);

  test('what is stored can be read; two nodes can go, as many as a zone has, and a third cannot', async () => {
    let first = '';
    await expect
      .poll(
        async () => {
          const { id, put, read } = await files().catch(() => ({ id: '', put: '', read: '' })); // they do not listen yet
          first = id;
          return [put, read];
        },
        { timeout: 120_000, interval: 1_000 },
      )
      .toEqual(['stored', 'one']);
    await docker('rm', '-f', `${name}-minio-0`, `${name}-minio-1`);
    await expect.poll(() => outcome(first), { timeout: 60_000 }).toEqual({ put: 'stored', read: 'one' });
    await docker('rm', '-f', `${name}-minio-2`);
    await expect.poll(() => outcome(first), { timeout: 60_000 }).toEqual({ put: 'Unavailable', read: 'Unavailable' });
  });
});
