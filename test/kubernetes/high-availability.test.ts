import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { loadConfig } from '@mayfly/shared/config';
import { parseRedisAddress } from '@mayfly/shared/redis-address';
import { blobSettings } from '@mayfly/shared/settings';
import { migrate, openDatabase } from '@mayfly/store/postgres/database';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import { freshDatabase, query } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { containersOf, type Manifest, podOf, render } from './render.ts';

// What deploy/k8s/overlays/ha promises besides what every overlay does. redis-sentinels.test.ts and minio-nodes.test.ts in test/compose run its stores.

const all = render(resolve(import.meta.dirname, '../../deploy/k8s/overlays/ha'));
const find = (kind: string, name: string) => {
  const found = all.find((one) => one.kind === kind && one.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found;
};
const secret = (name: string): Record<string, string> => find('ExternalSecret', name).spec.target.template.data;
const namesOf = (certificate: string): string[] => find('Certificate', certificate).spec.dnsNames;
const settings = find('ConfigMap', 'mayfly-settings').data;
const ZONES = 3;

test('every store is called by a name that is in its certificate, over TLS that is verified', () => {
  for (const name of ['mayfly-postgres', 'mayfly-migrate']) {
    const { hostname, searchParams, username } = new URL(secret(name).url ?? '');
    expect(namesOf('postgres')).toContain(hostname);
    expect(searchParams.get('sslmode')).toBe('verify-full');
    expect(username).toBe(secret(name).username);
  }
  const address = parseRedisAddress((secret('mayfly-redis').url ?? '').replace(/\{\{.*\}\}/, 'secret'));
  if (!address || !('sentinels' in address)) throw new Error('Redis is not asked for by its Sentinels');
  expect(address).toMatchObject({ enableTLSForSentinelMode: true, tls: {}, name: 'mayfly', password: 'secret' });
  for (const { host = '' } of address.sentinels ?? []) expect(namesOf('redis')).toContain(host);
  const { protocol, hostname } = new URL(settings.S3_ENDPOINT);
  expect(protocol).toBe('https:');
  expect(namesOf('minio')).toContain(hostname);
  expect(loadConfig(blobSettings, { ...settings, S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 'b' }).S3_PATH_STYLE).toBe('true');
  expect(find('Cluster', 'postgres').spec.postgresql.pg_hba).toEqual(['hostnossl all all all reject']);
});

test('every certificate is of one authority, which every process of Mayfly trusts without its key', () => {
  const { secretName, isCA } = find('Certificate', 'mayfly-ca').spec;
  expect(isCA).toBe(true);
  expect(find('Issuer', 'mayfly-ca').spec.ca.secretName).toBe(secretName);
  for (const name of ['postgres', 'redis', 'minio']) {
    expect(find('Certificate', name).spec.issuerRef).toEqual({ name: 'mayfly-ca', kind: 'Issuer' });
  }
  const processes = all.filter((one) => podOf(one) && one.metadata.labels?.['app.kubernetes.io/part-of'] === 'mayfly');
  expect(processes.length).toBe(5);
  for (const one of processes) {
    const [{ env, volumeMounts }] = containersOf(one);
    expect(podOf(one).spec.volumes).toEqual([
      { name: 'ca', secret: { secretName, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    ]);
    expect(env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: `${volumeMounts[0].mountPath}/ca.crt` });
  }
});

test('a zone can go: what is left of each store is enough', () => {
  const postgres = find('Cluster', 'postgres').spec;
  expect(postgres.instances).toBe(ZONES);
  expect(postgres.postgresql.synchronous).toEqual({ method: 'any', number: 1, dataDurability: 'required' });
  expect(postgres.affinity).toMatchObject({
    podAntiAffinityType: 'required',
    topologyKey: 'topology.kubernetes.io/zone',
  });

  const spread = ({ spec }: Manifest) =>
    spec.template.spec.topologySpreadConstraints.find(
      ({ topologyKey }: { topologyKey: string }) => topologyKey === 'topology.kubernetes.io/zone',
    );
  for (const name of ['redis', 'minio']) {
    const set = find('StatefulSet', name);
    expect(spread(set), name).toMatchObject({ maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' });
    expect(set.spec.replicas % ZONES).toBe(0);
  }

  const redis = find('StatefulSet', 'redis');
  const [, quorum] =
    /sentinel monitor mayfly \S+ 6379 (\d)/.exec(
      find('ConfigMap', 'redis-start').data['sentinel.sh'].replace('$(primary)', 'x'),
    ) ?? [];
  expect(Number(quorum)).toBe(Math.floor(redis.spec.replicas / 2) + 1);
  expect(redis.spec.replicas - redis.spec.replicas / ZONES).toBeGreaterThanOrEqual(Number(quorum));

  const minio = find('StatefulSet', 'minio');
  const [{ args, env }] = containersOf(minio);
  const nodes = /https:\/\/minio-\{0\.\.\.(\d)\}\.minio-nodes:9000\/data/.exec(args.join(' '))?.[1];
  expect(Number(nodes) + 1).toBe(minio.spec.replicas);
  for (let node = 0; node < minio.spec.replicas; node++)
    expect(namesOf('minio')).toContain(`minio-${node}.minio-nodes`);
  const parity = Number(
    env.find(({ name }: { name: string }) => name === 'MINIO_STORAGE_CLASS_STANDARD').value.replace('EC:', ''),
  );
  expect(parity).toBeGreaterThanOrEqual(minio.spec.replicas / ZONES);
  expect(parity, 'with half of them as parity one more is needed to write').toBeLessThan(minio.spec.replicas / 2);

  for (const { kind, metadata, spec } of all) {
    if (kind === 'HorizontalPodAutoscaler' && metadata.name !== 'janitor') expect(spec.minReplicas).toBe(ZONES);
  }
});

test('what has a choice takes what is in its own zone', () => {
  for (const name of ['gateway', 'minio']) expect(find('Service', name).spec.trafficDistribution).toBe('PreferClose');
});

test('the roles that the cluster is made with: one migrates, the other uses what is there and changes no table', async () => {
  await using server = await freshDatabase();
  const { initdb } = find('Cluster', 'postgres').spec.bootstrap;
  const unique = randomUUID().slice(0, 8);
  const [owner, user, database] = [`migrate_${unique}`, `mayfly_${unique}`, `mayfly_${unique}`];
  expect([initdb.owner, initdb.database]).toEqual([secret('mayfly-migrate').username, 'mayfly']);
  expect(find('Cluster', 'postgres').spec.managed.roles).toEqual([
    { name: secret('mayfly-postgres').username, login: true, passwordSecret: { name: 'mayfly-postgres' } },
  ]);
  const urlOf = (role?: string) => {
    const url = new URL(server.url);
    url.pathname = database;
    if (role) Object.assign(url, { username: role, password: 'secret' });
    return url.href;
  };
  // As the operator does it: the owner and its database, then the statements as the superuser, then the password of the managed role.
  await query(server.url, `create role ${owner} login password 'secret'`);
  await query(server.url, `create database ${database} owner ${owner}`);
  try {
    for (const statement of initdb.postInitApplicationSQL as string[]) {
      await query(urlOf(), statement.replaceAll(/\bmayfly_migrate\b/g, owner).replaceAll(/\bmayfly\b/g, user));
    }
    await query(server.url, `alter role ${user} login password 'secret'`);
    await migrate(urlOf(owner));
    await using db = openDatabase({ DATABASE_URL: urlOf(user), DATABASE_POOL_SIZE: 2 }, pino({ level: 'silent' }));
    await postgresUploads(db).check();
    await expect(query(urlOf(user), 'create table files.mine (a int)')).rejects.toThrow('permission denied');
  } finally {
    await query(server.url, `drop database ${database} with (force)`);
    await query(server.url, `drop role ${owner}, ${user}`);
  }
});
