import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@mayfly/local-stores/ports';
import { startShape } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { dashboards } from '../../deploy/observability/dashboards.ts';
import { chosen, grafanaJson } from '../../deploy/observability/grafana.ts';
import { useEverything } from './scrape.ts';

type Rule = { record?: string; alert?: string; expr: string; annotations?: { runbook_url: string } };

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const RULES = at('deploy/observability/rules/mayfly.yaml');
const rules: Rule[] = parse(readFileSync(RULES, 'utf8')).groups.flatMap((group: { rules: Rule[] }) => group.rules);
const documented = readFileSync(at('docs/observability.md'), 'utf8');
const runbooks = readFileSync(at('docs/operations.md'), 'utf8');
const exposed = new Set([...documented.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name));
const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
const panels = dashboards.flatMap(({ title, panels }) =>
  panels.map((panel) => ({ name: `${title}, ${panel.title}`, ...panel })),
);

/** The names of metrics in an expression: what is left without functions, labels, numbers and durations. */
function namesIn(expr: string): string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\b(by|without|on)\s*\([^)]*\)/g, ' ');
  return [...bare.matchAll(/[a-z_][\w:]*(?!\w*\s*\()/gi)]
    .map(([name]) => name)
    .filter((name) => /_|:/.test(name) && !/^(histogram_quantile|min_over_time|predict_linear)$/.test(name));
}

/** What Prometheus and its probes say themselves. */
const NOT_OURS = ['up', 'probe_success'];

const isKnown = (name: string) =>
  exposed.has(name) || exposed.has(name.replace(/_(bucket|count|sum)$/, '')) || recorded.has(name);

test.each(rules.map((rule) => ({ name: rule.alert ?? rule.record, ...rule })))(
  '$name refers to metrics that are exposed',
  ({ expr }) => {
    const names = namesIn(expr).filter((name) => !NOT_OURS.includes(name));
    expect(/^(up|probe_success)\{/.test(expr) || names.length > 0).toBe(true);
    expect(names.filter((name) => !isKnown(name))).toEqual([]);
  },
);

test.each(panels)('$name refers to metrics that are exposed', ({ queries }) => {
  for (const { expr } of queries) {
    expect(namesIn(expr).length).toBeGreaterThan(0);
    expect(namesIn(expr).filter((name) => !isKnown(name))).toEqual([]);
  }
});

test.each(panels)('$name shows what the variables choose', ({ queries }) => {
  for (const { expr } of queries) {
    const metrics = namesIn(expr).length;
    expect(chosen(expr).split('cluster=~"$cluster",namespace=~"$namespace"}').length - 1).toBe(metrics);
    expect(namesIn(chosen(expr))).toEqual(namesIn(expr));
  }
});

test('every alert has a runbook', () => {
  const headings = [...runbooks.matchAll(/^### (.+)$/gm)].map(([, title = '']) =>
    title.toLowerCase().replaceAll(' ', '-'),
  );
  for (const { alert, annotations } of rules.filter((rule) => rule.alert)) {
    expect(headings, alert).toContain(annotations?.runbook_url.split('#')[1]);
  }
});

test('the dashboards in the folder are those of dashboards.ts', () => {
  for (const dashboard of dashboards) {
    const stored = readFileSync(at(`deploy/observability/grafana/dashboards/${dashboard.uid}.json`), 'utf8');
    expect(stored, 'node deploy/observability/dashboards.ts writes it').toBe(grafanaJson(dashboard));
  }
});

const hasPrometheus = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).status === 0);

describe.skipIf(!hasPrometheus)('with a Prometheus (skipped without `prometheus` and `promtool` on the PATH)', () => {
  test('promtool accepts rules and configuration', () => {
    const checked = spawnSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' });
    expect(checked.status, checked.stdout + checked.stderr).toBe(0);
    const config = spawnSync('promtool', ['check', 'config', at('deploy/observability/prometheus.yaml')], {
      encoding: 'utf8',
    });
    expect(config.status, config.stdout + config.stderr).toBe(0);
  });

  test('every panel and every record has data, and no alert fires while all is well', {
    timeout: 300_000,
  }, async () => {
    await using folder = await freshFolder();
    await using running = await startShape('split', { TOKEN_FAILURES_MAX: '20', RATE_LIMIT_MAX: '1000' });
    const targets = running.processes.map(({ adminUrl }) => new URL(adminUrl).host);
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [{ job_name: 'mayfly', static_configs: [{ targets }] }],
    };
    await writeFile(join(folder.path, 'prometheus.json'), JSON.stringify(config));
    await mkdir(join(folder.path, 'data'));
    const port = await freePort();
    const prometheus = spawn(
      'prometheus',
      [
        `--config.file=${join(folder.path, 'prometheus.json')}`,
        `--storage.tsdb.path=${join(folder.path, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: 'inherit' },
    );
    try {
      const query = async (expr: string): Promise<string[]> => {
        const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`;
        const { data } = (await (await fetch(url)).json()) as { data: { result: { value: [number, string] }[] } };
        return data.result.map(({ value: [, value] }) => value);
      };
      const up = () => query('sum(up)').catch(() => []);
      await expect.poll(up, { timeout: 60_000, interval: 500 }).toEqual([String(targets.length)]);
      for (let round = 0; round < 3; round += 1) {
        await useEverything(running, '203.0.113.77');
        await sleep(3_000); // counters move between scrapes, and a sweep has work
      }
      const empty: string[] = [];
      for (const { name, queries } of panels) {
        for (const { expr } of queries) {
          const found = await query(expr.replaceAll('$__rate_interval', '1m'));
          if (found.length === 0) empty.push(`${name}: ${expr}`);
          else console.log(`${name}: ${found.length} series, ${found.slice(0, 3).join(', ')}`);
        }
      }
      expect(empty).toEqual([]);
      for (const record of recorded) expect(await query(record), record).not.toEqual([]);
      expect(await query('ALERTS{alertstate="firing"}')).toEqual([]);
    } finally {
      const exited = once(prometheus, 'exit');
      prometheus.kill('SIGTERM');
      await exited;
    }
  });
});
