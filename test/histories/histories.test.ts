import { randomUUID } from 'node:crypto';
import { query } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import type { Site } from './afterwards.ts';
import { runHistory } from './run-history.ts';
import { summaryOf } from './summary.ts';

const TIMEOUT = { timeout: 240_000 };

test.each([
  ['all', 1],
  ['split', 2],
] as const)(
  'what clients of %s are told while processes and stores fail contradicts nothing that is there afterwards (seed %i)',
  TIMEOUT,
  async (shape, seed) => {
    const report = await runHistory({ shape, seed, minutes: 0.4 });
    console.log(summaryOf([report]));
    expect(report.violations).toEqual([]);
    expect(report.operations.filter(({ outcome }) => outcome === 'succeeded').length).toBeGreaterThan(50);
    expect([...report.faults.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(2);
  },
);

test(
  'five faults of a running service that are planted are found, each on the upload where it is',
  TIMEOUT,
  async () => {
    const planted: Record<string, string> = {};
    const sabotage = async (site: Site, uploads: string[]) => {
      const [corrupted = '', lost = '', ...others] = uploads;
      const used = `select id from files.uploads where download_count > 0 and id = any('{${others}}') limit 1`;
      const [count] = await query<{ id: string }>(site.databaseUrl, used);
      const stray = randomUUID();
      Object.assign(planted, { count: count?.id, lost, corrupted, 'left-over': stray });
      await query(site.databaseUrl, `update files.uploads set download_count = 0 where id = '${count?.id}'`);
      await query(site.databaseUrl, `delete from files.uploads where id = '${lost}'`);
      await site.blobs.plant(`${corrupted}.bin`, Buffer.from('something else'));
      await site.blobs.plant(`${stray}.bin`, Buffer.from('nobody sent this'));
      await query(site.databaseUrl, 'update files.storage set bytes = bytes + 1');
    };
    const { violations } = await runHistory({ shape: 'all', seed: 4, operations: 200, sabotage });
    expect(Object.values(planted).every(Boolean), JSON.stringify(planted)).toBe(true);
    const rules = new Set(violations.map(({ rule }) => rule));
    expect([...rules].sort()).toEqual(['corrupted', 'count', 'held', 'left-over', 'lost']);
    expect(violations.some(({ rule, item }) => rule === 'left-over' && item === planted['left-over'])).toBe(true);
    for (const rule of ['count', 'lost', 'corrupted'])
      expect(violations.filter((one) => one.rule === rule)).toHaveLength(1);
  },
);
