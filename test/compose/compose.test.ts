import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from '@mayfly/testing/deployment';
import { freshFolder } from '@mayfly/testing/stores';
import { Client } from 'minio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { startLoad } from '../support/load.ts';
import { isWanted, openProject, type Project } from './project.ts';

// TEST_COMPOSE=yes npm test -- test/compose: builds the image, starts all of docker-compose.yml, and takes minutes.

const root = resolve(import.meta.dirname, '../..');
if (!isWanted) {
  console.log(
    'docker-compose.yml is not started: TEST_COMPOSE=yes npm test -- test/compose does it, where there is a Docker engine.',
    'Local processes are tested in its place (test/end-to-end).',
  );
}

/** Those that need an address and ways to the stores, and no processes to look into nor settings other than override.yaml's. */
const SUITES = ['uploads', 'notes', 'counting', 'main-job'].map((name) => `test/end-to-end/${name}.test.ts`);

describe.skipIf(!isWanted)('docker compose up', { timeout: 900_000 }, () => {
  let project: Project;
  let api: Api;
  let deployment: Deployment;
  beforeAll(async () => {
    project = await openProject();
    await project.up('--build');
    await project.untilHealthy();
    api = new Api(project.baseUrl);
    deployment = await project.deployment();
  }, 900_000);
  afterAll(() => project?.[Symbol.asyncDispose](), 300_000);

  test('a process cannot write to its files, is not root, and carries compiled code', async () => {
    const inside = (code: string) => project.exec('files', 'node', '--input-type=module', '--eval', code);
    expect(await inside('console.log(process.getuid(), process.getgid())')).toBe('1000 1000');
    await expect(inside("import fs from 'node:fs'; fs.writeFileSync('/app/x', '')")).rejects.toThrow(/EROFS/);
    // Nothing loads the type stripper.
    const strippers = `await import('/app/services/files/src/app.ts');
      console.log(process.moduleLoadList.filter((name) => name.includes('amaro')).length)`;
    expect(await inside(strippers)).toBe('0');
  });

  test('every process runs, as often as it should, with the secrets that it needs and no others', async () => {
    const count = async (service: string) => (await project.containers(service)).length;
    expect(await Promise.all(['gateway', 'files', 'notes', 'janitor'].map(count))).toEqual([1, 2, 2, 1]);
    const list = "console.log(fs.readdirSync('/run/mayfly').sort().join())";
    const secrets = async (service: string) => (await project.exec(service, 'node', '--eval', list)).split(',');
    expect(await secrets('gateway')).toEqual(['redis']);
    expect(await secrets('notes')).toEqual(['postgres']);
    expect(await secrets('files')).toEqual(['postgres', 's3']);
  });

  test('the end-to-end suites pass on it', async () => {
    const folder = await freshFolder();
    const results = join(folder.path, 'results.json');
    const { s3 } = deployment;
    const s3Url = new URL(s3.S3_ENDPOINT);
    s3Url.username = s3.S3_ACCESS_KEY;
    s3Url.password = s3.S3_SECRET_KEY;
    const child = spawn(
      process.execPath,
      [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--reporter=json', `--outputFile=${results}`, ...SUITES],
      {
        cwd: root,
        stdio: ['ignore', 'ignore', 'inherit'],
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          TMPDIR: folder.path,
          TEST_DEPLOYMENT: JSON.stringify(deployment),
          TEST_DATABASE_URL: deployment.databaseUrl,
          TEST_REDIS_URL: deployment.redisUrl,
          TEST_S3_URL: s3Url.href,
        },
      },
    );
    await once(child, 'exit');
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(results, 'utf8'));
    const failed = testResults.flatMap(({ assertionResults, message }: never) =>
      (assertionResults as { status: string; fullName: string; failureMessages: string[] }[])
        .filter(({ status }) => status === 'failed')
        .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]?.slice(0, 300)}`)
        .concat(message || []),
    );
    console.log(`docker compose: ${numPassedTests} end-to-end tests passed, ${numFailedTests} failed`);
    expect(failed).toEqual([]);
    expect(numPassedTests).toBeGreaterThan(100);
    await folder[Symbol.asyncDispose]();
  });

  test('a replica of files is killed in the middle of uploads and downloads: what it carried breaks, everything else goes on', async () => {
    const load = startLoad(() => project.baseUrl);
    await expect.poll(() => load.downloads, { timeout: 120_000 }).toBeGreaterThan(3);
    expect(load.failures).toEqual([]);
    const [victim = ''] = await project.containers('files');
    await project.docker('kill', '-s', 'KILL', victim);
    await sleep(5_000);
    const broken = load.failures.length;
    await expect.poll(() => load.downloads, { timeout: 120_000 }).toBeGreaterThan(12); // on the one that is left
    const failures = [...load.failures];
    await project.docker('start', victim);
    await load.stop();
    console.log(
      `docker compose: a replica was killed: ${failures.length} of ${load.uploads + load.downloads + failures.length} transfers broke`,
    );
    expect(failures.length, 'later requests go to the other replica at once').toBe(broken);
    expect(broken).toBeGreaterThan(0);
    expect(broken).toBeLessThanOrEqual(8); // as many as were under way
    for (const failure of failures) expect(failure).toMatch(/answered 50[23]|UND_ERR_|ECONNRESET|terminated|aborted/);
  });

  test.each(['files', 'notes'])('every replica of %s is replaced under load, and nobody notices', async (service) => {
    await project.up('--no-recreate');
    const load = startLoad(() => project.baseUrl);
    await sleep(3_000);
    const { exitCodes } = await project.replace(service);
    const last = load.downloads;
    await expect.poll(() => load.downloads, { timeout: 60_000 }).toBeGreaterThan(last + 8); // every worker goes on
    await load.stop();
    console.log(
      `docker compose: ${service} replaced: ${load.uploads} uploads, ${load.downloads} downloads and ${load.noteCalls} note calls`,
      `succeeded, ${load.failures.length} failed`,
    );
    expect(load.failures).toEqual([]);
    expect(exitCodes).toEqual(['0', '0']);
  });

  test('operators’ commands run in the image', async () => {
    const facts = JSON.parse(await project.exec('janitor', 'node', 'services/janitor/src/admin.ts', 'stats', '--json'));
    expect(facts.uploads.map(({ state }: { state: string }) => state)).toContain('available');
  });

  test('everything is there after a restart of everything', async () => {
    const upload = await api.newUpload();
    const note = await api.newNote();
    await project.compose('restart', '--timeout', '10');
    await project.untilHealthy();
    expect((await api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
    expect((await api.view(note.id, note.authToken)).body.encryptedContent).toBe(note.encryptedContent);
  });

  test('passwords are changed as docs/operations.md says', async () => {
    const note = await api.newNote();
    const before = await project.deployment();
    const changed = ['redis/password', 's3/secret-key', 'postgres/password'];
    const make = ['run', '--rm', '--no-deps', 'secrets', 'node', '/make-secrets.mjs', '/run/mayfly'];
    await project.compose(...make, ...changed);
    const tell = `echo "ALTER ROLE mayfly PASSWORD :'new'" | psql -qU mayfly -v new="$(cat /run/mayfly/postgres/password)"`;
    await project.exec('postgres', 'sh', '-c', tell);
    await project.up('--force-recreate');
    await project.untilHealthy();
    const after = await project.deployment();
    expect(after.s3.S3_SECRET_KEY).not.toBe(before.s3.S3_SECRET_KEY);
    for (const url of ['databaseUrl', 'redisUrl'] as const) {
      expect(new URL(after[url]).password).not.toBe(new URL(before[url]).password);
    }
    expect((await api.view(note.id, note.authToken)).body.encryptedContent).toBe(note.encryptedContent);
    const upload = await api.newUpload();
    expect((await api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
  });

  test('the restore drill: a backup of database and bucket brings everything back on empty volumes', async () => {
    const upload = await api.newUpload();
    const note = await api.newNote();
    await using folder = await freshFolder();
    // The order of docs/operations.md: first the database, then the payloads.
    await project.exec('postgres', 'pg_dump', '-U', 'mayfly', '-Fc', '-f', '/tmp/mayfly.dump', 'mayfly');
    const dump = join(folder.path, 'mayfly.dump');
    await project.compose('cp', 'postgres:/tmp/mayfly.dump', dump);
    const blobs = join(folder.path, 'blobs');
    await mkdir(blobs);
    const before = bucketOf(await project.deployment());
    for await (const { name } of before.listObjectsV2('mayfly', '', true)) {
      if (name) await before.fGetObject('mayfly', name, join(blobs, name));
    }

    await project.compose('down', '--volumes', '--timeout', '10');
    await project.up();
    await project.untilHealthy();
    expect((await api.exists(upload.id)).status).toBe(404);

    await project.compose('stop', 'gateway', 'files', 'notes', 'janitor');
    await project.compose('cp', dump, 'postgres:/tmp/mayfly.dump');
    await project.exec(
      'postgres',
      'pg_restore',
      '-U',
      'mayfly',
      '-d',
      'mayfly',
      '--clean',
      '--if-exists',
      '/tmp/mayfly.dump',
    );
    const after = bucketOf(await project.deployment());
    for (const name of await readdir(blobs)) await after.putObject('mayfly', name, await readFile(join(blobs, name)));
    await project.up();
    await project.untilHealthy();

    expect((await api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
    expect((await api.view(note.id, note.authToken)).body.encryptedContent).toBe(note.encryptedContent);
  });

  test('down takes everything away', async () => {
    await project[Symbol.asyncDispose]();
    const label = `label=com.docker.compose.project=${project.name}`;
    for (const kind of [
      ['ps', '-a'],
      ['volume', 'ls'],
      ['network', 'ls'],
    ]) {
      expect(await project.docker(...kind, '-q', '--filter', label)).toBe('');
    }
  });
});

function bucketOf({ s3 }: Deployment): Client {
  const { hostname, port } = new URL(s3.S3_ENDPOINT);
  return new Client({
    endPoint: hostname,
    port: Number(port),
    useSSL: false,
    region: s3.S3_REGION,
    accessKey: s3.S3_ACCESS_KEY,
    secretKey: s3.S3_SECRET_KEY,
  });
}
