import { inSuite } from '@mayfly/testing/in-suite';
import { startShape } from '@mayfly/testing/shapes';
import pg from 'pg';
import { expect, test } from 'vitest';
import { scrape } from './scrape.ts';

// What alerts look at must move with its fault, and only then.

const INTERVAL_SEC = 5;

const running = inSuite(() => startShape('all', { CLEANUP_INTERVAL_SEC: String(INTERVAL_SEC) }));

const total = async (name: string, labels: Record<string, string>) =>
  (await scrape(running()))
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);

test('findings that there were none of are 0, so that the first is seen to be one more', async () => {
  const samples = (await scrape(running())).filter(({ name }) => name === 'mayfly_reconcile_findings_total');
  for (const [kind, outcome] of [
    ['lost', 'mended'],
    ['refused', 'refused'],
  ]) {
    const found = samples.filter(({ labels }) => labels.mayfly_kind === kind && labels.mayfly_outcome === outcome);
    expect(found.map(({ value }) => value)).toEqual([0]);
  }
});

test('jobs that begin when they are due are not late by their interval', { timeout: 120_000 }, async () => {
  const inTime = () => total('mayfly_job_lag_bucket', { mayfly_job: 'sweep', le: '2.5' });
  await expect.poll(inTime, { timeout: 100_000, interval: 1_000 }).toBeGreaterThanOrEqual(3); // the first is due at once
});

test('callers that wait behind a statement are counted, and nobody is while none is stuck', {
  timeout: 60_000,
}, async () => {
  const slow = async () => {
    const labels = { mayfly_queue: 'batch' };
    const all = await total('db_client_connection_wait_time_count', labels);
    return all - (await total('db_client_connection_wait_time_bucket', { ...labels, le: '1' }));
  };
  const ask = () => fetch(`${running().baseUrl}/api/info/00000000-0000-4000-8000-000000000000`);
  expect((await ask()).status).toBe(404);
  const before = await slow();
  const client = new pg.Client(running().databaseUrl);
  await client.connect();
  await client.query('begin; lock table files.uploads in access exclusive mode');
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  await client.query('rollback');
  await client.end();
  expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(0);
  expect(await slow()).toBeGreaterThan(before);
  const after = await slow();
  for (let i = 0; i < 20; i += 1) expect((await ask()).status).toBe(404);
  expect(await slow()).toBe(after);
});
