import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { query } from '@mayfly/testing/stores';
import { Redis } from 'ioredis';
import type { BenchArguments } from './arguments.ts';
import { median, runLoad } from './load.ts';
import { figuresOf, measureRound, type Round } from './measure.ts';
import { AUTH_TOKEN, get, postJson } from './messages.ts';
import { atMost, type Report } from './report.ts';
import { startAll, startStores } from './service.ts';
import { columns } from './table.ts';
import type { Target } from './target.ts';

const ROWS = [10_000, 1_000_000, 10_000_000];
const QUICK_ROWS = [1_000, 10_000];
const CLIENTS = [10_000, 100_000];
const QUICK_CLIENTS = [500, 1_000];
const REQUESTS_OF_EACH = 5;
const FIRST_WARM_UP_SEC = 15;
const WARM_UP_SEC = 2;
const MOST_GROWTH = 1.3;
const MOST_CLIENT_GROWTH = 1.1;

/** The id of the nth generated row: any of them can be asked for without knowing the others. */
const idOf = (nth: number) =>
  createHash('md5')
    .update(String(nth))
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const SCENARIOS = {
  info: (rows: number) => (index: number) => get(`/api/info/${idOf(any(rows))}`, index),
  'note-view': (rows: number) => (index: number) =>
    postJson(`/api/note/${idOf(any(rows))}/view`, index, { authToken: AUTH_TOKEN }),
};

/**
 * What requests cost with more rows: databases of all sizes side by side, each with a service of its own, in interleaved rounds.
 * And what a client costs Redis with more and more clients.
 */
export async function measureGrowth(
  stack: AsyncDisposableStack,
  folder: string,
  { rounds, seconds, isQuick }: BenchArguments,
): Promise<Report> {
  const stores = await startStores(stack, folder);
  const sizes: { rows: number; target: Target }[] = [];
  for (const rows of isQuick ? QUICK_ROWS : ROWS) {
    console.log(`making ${rows.toLocaleString('en')} rows in each table ...`);
    const databaseUrl = await createDatabase(stores.databaseUrl, `rows_${rows}`);
    // A folder of its own, too: blob store and database belong together.
    const own = { DATABASE_URL: databaseUrl, BLOB_DIR: join(folder, `blobs-${rows}`) };
    const target = await startAll(stack, { ...stores, env: { ...stores.env, ...own } });
    await makeRows(databaseUrl, rows);
    sizes.push({ rows, target });
  }
  const table: { scenario: string; rows: number; cpuPerThousand: number; p99Ms: number }[] = [];
  for (const [name, requestsOf] of Object.entries(SCENARIOS)) {
    const measured = sizes.map((): Round[] => []);
    for (let round = 0; round <= rounds; round++) {
      for (const [index, { rows, target }] of sizes.entries()) {
        const request = requestsOf(rows);
        const warmUpSec = isQuick ? 1 : round === 0 ? FIRST_WARM_UP_SEC : WARM_UP_SEC;
        await runLoad({ url: target.url, connections: 64, seconds: warmUpSec, request });
        if (round > 0) measured[index]?.push(await measureRound(target, { connections: 64, seconds, request }));
      }
      console.log(round === 0 ? `warmed up: ${name}` : `round ${round} of ${rounds}: ${name}`);
    }
    for (const [index, { rows, target }] of sizes.entries()) {
      const { cpuPerThousand = 0, p99Ms } = figuresOf(name, target, measured[index] ?? []);
      table.push({ scenario: name, rows, cpuPerThousand, p99Ms });
    }
  }
  const url = sizes[0]?.target.url ?? '';
  const clients = await redisBytesPerClient(stack, stores.redisUrl, url, isQuick ? QUICK_CLIENTS : CLIENTS);
  const growth = Object.keys(SCENARIOS).map((name) => {
    const costs = table.filter((row) => row.scenario === name).map(({ cpuPerThousand }) => cpuPerThousand);
    return { name, growth: Math.max(...costs) / Math.min(...costs) };
  });
  const bytes = clients.map(({ bytesPerClient }) => bytesPerClient);
  const rows = table.map((row) => [
    row.scenario,
    row.rows.toLocaleString('en'),
    row.cpuPerThousand.toFixed(3),
    row.p99Ms.toFixed(1),
  ]);
  return {
    text: `${columns([['scenario', 'rows', 'CPU s/1,000', 'p99 ms'], ...rows])}

${columns([['clients', 'Redis bytes per client'], ...clients.map((row) => [row.clients.toLocaleString('en'), row.bytesPerClient.toFixed(0)])])}`,
    figures: { table, clients },
    verdicts: [
      ...growth.map((one) => atMost(`${one.name}: dearest by cheapest number of rows`, one.growth, MOST_GROWTH, 'x')),
      atMost('Redis bytes per client, most by least', Math.max(...bytes) / Math.min(...bytes), MOST_CLIENT_GROWTH, 'x'),
    ],
  };
}

const any = (rows: number) => Math.floor(Math.random() * rows);

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  await query(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Uploads and notes as the service makes them. */
async function makeRows(databaseUrl: string, rows: number) {
  const auth = createHash('sha256').update(AUTH_TOKEN).digest();
  const numbers = 'generate_series(0, $1::int - 1) as n';
  const life = `now(), now() + interval '7 days', now() + interval '7 days'`;
  await query(
    databaseUrl,
    `insert into files.uploads (id, state, owner_hash, auth_hash, salt, size, file_count, has_password, max_downloads,
       encrypted_meta, nonce, created_at, expires_at, due_at)
     select md5(n::text)::uuid, 'available', $2, $2, 'AAECAwQFBgcICQoLDA0ODw', 1000, 1, false, 100,
       repeat('A', 200), 'AAECAwQFBgcICQoL', ${life} from ${numbers}`,
    [rows, auth],
  );
  await query(
    databaseUrl,
    `insert into notes.notes (id, state, owner_hash, auth_hash, salt, content_type, has_password, encrypted_content, nonce,
       max_views, created_at, expires_at, due_at)
     select md5(n::text)::uuid, 'available', $2, $2, 'AAECAwQFBgcICQoLDA0ODw', 'text', false, repeat('A', 100),
       'AAECAwQFBgcICQoL', 1000000, ${life} from ${numbers}`,
    [rows, auth],
  );
  for (const table of ['files.uploads', 'notes.notes']) await query(databaseUrl, `vacuum (analyze) ${table}`);
  await query(databaseUrl, 'checkpoint');
}

async function redisBytesPerClient(stack: AsyncDisposableStack, redisUrl: string, url: string, counts: number[]) {
  const redis = new Redis(redisUrl);
  stack.defer(() => redis.disconnect());
  const used = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const clients = [];
  for (const count of counts) {
    // Keys of earlier clients go; the limiter's own key stays.
    for await (const keys of redis.scanStream({ match: 'mayfly:rate:*', count: 1_000 })) {
      if (keys.length > 0) await redis.del(keys); // unlink frees later
    }
    const before = await used();
    await runLoad({
      url,
      connections: 64,
      seconds: 600,
      maxRequests: count * REQUESTS_OF_EACH,
      request: (index) => get('/api/config', index, { 'X-Forwarded-For': address(index % count) }),
    });
    const readings = [await used(), await used(), await used()];
    clients.push({ clients: count, bytesPerClient: (median(readings) - before) / count });
  }
  return clients;
}

const address = (client: number) => `10.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`;
