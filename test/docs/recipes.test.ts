import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PROCESSES, settingRows } from '../../scripts/settings-table.ts';

// docs/recipes.md: what a new setting, page, service or store has to be named in, beside what other tests look for.

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const find = (pattern: string) => globSync(pattern, { cwd: root }).sort();
const missing = (names: string[], text: string) => names.filter((name) => !text.includes(name));

const contract = read('docs/contract.md');
const { paths } = JSON.parse(read('docs/openapi.json'));
const answerOf = (path: string) => paths[path].get.responses['200'].content['application/json'].schema.properties;
const exampleOf = (path: string) =>
  JSON.parse(contract.split(`\`GET ${path}\`: 200`)[1]?.match(/```json\n(.*?)```/s)?.[1] ?? '');

describe('a setting', () => {
  test('that GET /api/config answers is in the contract, section 5', () => {
    expect(Object.keys(exampleOf('/api/config'))).toEqual(Object.keys(answerOf('/api/config')));
  });

  test('that is a limit by its name is in the contract', () => {
    const limits = settingRows()
      .map(({ name }) => name)
      .filter((name) => /(^|_)(MAX|MIN|OPTIONS|RATE|REPEAT|QUOTA|FAILURES|BYTES)(_|$)/.test(name));
    expect(limits.length).toBeGreaterThan(20);
    expect(
      missing(
        limits.map((name) => `\`${name}\``),
        contract,
      ),
    ).toEqual([]);
  });
});

describe('a page', () => {
  const pages = JSON.parse(read('apps/web/src/pages.json')) as Record<string, string>;

  test('is looked at, in light and dark, wide and narrow', () => {
    const looks = [...read('test/web/looks.test.ts').matchAll(/check\(page, '([\w-]+)'\)/g)].map(
      ([, name = '']) => name,
    );
    const isLookedAt = (page: string) => looks.some((name) => name === page || name.endsWith(`-${page}`));
    expect(Object.values(pages).filter((page) => !isLookedAt(page))).toEqual([]);
  });

  test('is among those of the decision static-pages', () => {
    const addresses = Object.keys(pages).map((address) => `\`${address.replace(':id', '<id>')}\``);
    expect(missing(addresses, read('docs/decisions/web-app.md'))).toEqual([]);
  });
});

describe('a service', () => {
  const services = find('services/*/src/main.ts')
    .map((file) => file.split('/')[1] ?? '')
    .filter((name) => name !== 'all');
  const mains = services.map((name) => `services/${name}/src/main.ts`);

  test('is among the processes whose settings are listed, and in the manifests with them', () => {
    expect(Object.keys(PROCESSES).sort()).toEqual([...services, 'all', 'migrate'].sort());
  });

  test('runs in docker-compose.yml', () => {
    const containers = Object.values(
      parse(read('docker-compose.yml'), { merge: true }).services as { command?: string[] }[],
    );
    expect(mains.filter((main) => !containers.some(({ command }) => command?.includes(main)))).toEqual([]);
  });

  test('is scraped by Prometheus', () => {
    const { scrape_configs: jobs } = parse(read('deploy/observability/prometheus.yaml'));
    expect(jobs[0].dns_sd_configs[0].names.sort()).toEqual(services);
  });

  test('is in the tables of docs/architecture.md and docs/operations.md', () => {
    expect(
      missing(
        services.map((name) => `| \`services/${name}\` |`),
        read('docs/architecture.md'),
      ),
    ).toEqual([]);
    expect(missing(mains, read('docs/operations.md'))).toEqual([]);
  });

  test('that answers requests is a component of health, in the contract as well', () => {
    const components = Object.keys(answerOf('/api/health').components.properties);
    const behindGateway = services.filter((name) => `${name.toUpperCase()}_URL` in (PROCESSES.gateway ?? {}));
    expect(components).toEqual([...behindGateway, 'redis']);
    expect(Object.keys(exampleOf('/api/health').components)).toEqual(components);
  });
});

describe('a store', () => {
  const suite = read('libs/store/test/stores.test.ts');
  const ofTables = read('libs/store/test/postgres-contracts.ts');
  const callsOf = (contract: string) => `${suite}${ofTables}`.split(new RegExp(`\\n *${contract}\\(`)).length - 1;
  const namesIn = (folder: string) => find(`${folder}/*.ts`).map((file) => basename(file, '.ts'));
  /** The interfaces that PostgreSQL keeps; what only the janitor asks of it is tested and measured there. */
  const ofRows = namesIn('libs/store/src').filter(
    (name) => namesIn('libs/store/src/postgres').includes(name) && !['reconcile', 'stats', 'sweep'].includes(name),
  );

  test('of blobs keeps their contract', () => {
    const kinds = find('libs/store/src/*/blobs.ts').map((file) => file.split('/')[3]);
    expect(
      missing(
        kinds.map((kind) => `'../src/${kind}/blobs.ts'`),
        suite,
      ),
    ).toEqual([]);
    expect(callsOf('blobsContract')).toBe(kinds.length);
  });

  test('of rows has a contract, which is tried', () => {
    const contracts = find('libs/store/test/contract-*.ts');
    const withContract = contracts.map((file) => basename(file, '.ts').replace('contract-', ''));
    const hasContract = (name: string) => withContract.some((one) => name.endsWith(one));
    expect(ofRows.length).toBeGreaterThan(5);
    expect(ofRows.filter((name) => !hasContract(name))).toEqual([]);
    const names = contracts.flatMap((file) =>
      [...read(file).matchAll(/^export function (\w+Contract)\(/gm)].map(([, name = '']) => name),
    );
    expect(names.length).toBeGreaterThanOrEqual(contracts.length);
    expect(names.filter((name) => callsOf(name) < 1)).toEqual([]);
  });

  test('is measured, under the name that dashboards know', () => {
    const janitor = find('services/janitor/src/{cleanup-deps,notices/from-settings}.ts');
    const opening = ['libs/store/src/open-stores.ts', ...janitor].map(read).join('');
    const opened = [...opening.matchAll(/(?:observed\('(\w+)', )?postgres([A-Z]\w+)\(/g)];
    const names = Map.groupBy(opened, ([, name]) => `${name}`);
    const stores = [...names].map(([name, all]) => [name, [...new Set(all.map(([, , store]) => store))].join(' ')]);
    expect(Object.fromEntries(stores)).toEqual({
      reports: 'Reports',
      blocks: 'Blocks',
      desk: 'DeskSweep',
      uploads: 'Uploads UploadSweep Reconciliation',
      sessions: 'UploadSessions',
      leases: 'DownloadLeases',
      requests: 'FileRequests FileRequestSweep',
      notes: 'Notes NoteSweep',
      ownedUploads: 'OwnedUploads',
      ownedNotes: 'OwnedNotes',
      uploadNotices: 'UploadNotices',
      noteNotices: 'NoteNotices',
      requestNotices: 'RequestNotices',
    });
    const modules = ofRows.map((name) => `/postgres/${name}`);
    expect(missing(modules, opening)).toEqual([]);
  });

  test('has its migrations named', () => {
    const migrations = find('libs/store/src/postgres/migrations/*.ts').map(
      (file) => `'./migrations/${basename(file)}'`,
    );
    expect(missing(migrations, read('libs/store/src/postgres/database.ts'))).toEqual([]);
  });

  test('has its tables and columns in docs/architecture.md', () => {
    const schema = read('libs/store/src/postgres/schema.ts');
    const tables = [...schema.matchAll(/^ {2}'([a-z_.]+)': /gm)].map(([, name]) => `\`${name}\``);
    const columns = [...schema.matchAll(/^ {2}([a-z_]+)\??: /gm)].map(([, name]) => `\`${name}\``);
    expect([tables.length > 5, columns.length > 25]).toEqual([true, true]);
    expect(missing([...tables, ...columns], read('docs/architecture.md'))).toEqual([]);
  });
});
