import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

// Each alert is made to fire by its fault, and by nothing else. Minutes of a day in which the fault begins after six hours.

type Series = Record<string, string>;
type Fault = { name: string; fires: string[]; series: Series; without?: RegExp };

const RULES = fileURLToPath(new URL('../../deploy/observability/rules/mayfly.yaml', import.meta.url));
const alerts: string[] = parse(readFileSync(RULES, 'utf8')).groups.flatMap((group: { rules: { alert?: string }[] }) =>
  group.rules.flatMap(({ alert }) => alert ?? []),
);

const [FAULT_AT, LOOKED_AT, END] = [360, 430, 480];
const service = (name: string) => `process_memory_usage{service_name="mayfly-${name}"}`;
const requests = (status: number) =>
  `http_server_request_duration_count{mayfly_service="gateway",http_route="/api/info/:id",http_response_status_code="${status}"}`;
const QUICK = 'http_server_request_duration_bucket{mayfly_service="gateway",http_route="/api/info/:id",le="0.5"}';
const SWEPT = 'mayfly_job_last_success{mayfly_job="sweep"}';
const decisions = (keptBy: string) =>
  `mayfly_limits_decisions_total{mayfly_decision="admitted",mayfly_kept_by="${keptBy}"}`;
const findings = (kind: string, outcome: string) =>
  `mayfly_reconcile_findings_total{mayfly_kind="${kind}",mayfly_outcome="${outcome}"}`;
const waits = (le: string) =>
  `db_client_connection_wait_time_bucket{service_name="mayfly-files",mayfly_queue="pool",le="${le}"}`;
const BYTES = 'mayfly_items_bytes{service_name="mayfly-janitor",instance="a",mayfly_kind="upload"}';
const replicas = (state: string) => `mayfly_upstream_replicas{mayfly_upstream="files",mayfly_state="${state}"}`;

/** As it is while all is well: `a+bxn` is a value that grows n times. One decision of a hundred is made without Redis. */
const WELL: Series = {
  ...Object.fromEntries(['gateway', 'files', 'notes', 'janitor'].map((name) => [service(name), `100x${END}`])),
  'up{job="mayfly",instance="a"}': `1x${END}`,
  'probe_success{job="mayfly-outside",instance="https://mayfly.example"}': `1x${END}`,
  [requests(200)]: `0+60x${END}`,
  [QUICK]: `0+60x${END}`,
  'mayfly_due_age{mayfly_kind="upload"}': `60x${END}`,
  [SWEPT]: `0+60x${END}`,
  mayfly_blob_deletions: `500x${END}`,
  [BYTES]: `20000000000+1000000x${END}`,
  [decisions('redis')]: `0+99x${END}`,
  [decisions('memory')]: `0+1x${END}`,
  [findings('lost', 'mended')]: `0x${END}`,
  [findings('refused', 'refused')]: `0x${END}`,
  [findings('orphan', 'mended')]: `0+1x${END}`,
  [waits('0.25')]: `0+100x${END}`,
  [waits('1')]: `0+100x${END}`,
  [waits('+Inf')]: `0+100x${END}`,
  [replicas('fit')]: `2x${END}`,
  [replicas('out')]: `0x${END}`,
};

const REST = END - FAULT_AT;
const FAULTS: Fault[] = [
  { name: 'nothing', fires: [], series: {} },
  {
    name: 'one process instead of four',
    fires: [],
    series: { [service('all')]: `100x${END}` },
    without: /mayfly-(gateway|notes|janitor)"}|process_memory_usage{service_name="mayfly-files/,
  },
  { name: 'no gateway', fires: ['MayflyGatewayGone'], series: { [service('gateway')]: `100x${FAULT_AT}` } },
  ...['files', 'notes', 'janitor'].map((name) => ({
    name: `no ${name}`,
    fires: ['MayflyServiceGone'],
    series: { [service(name)]: `100x${FAULT_AT}` },
  })),
  {
    name: 'nothing at all',
    fires: ['MayflyGatewayGone', 'MayflyNoSweep', 'MayflyServiceGone'],
    series: Object.fromEntries(
      Object.entries(WELL).map(([name, values]) => [name, values.replace(/\d+$/, `${FAULT_AT}`)]),
    ),
  },
  {
    name: 'no answer from outside',
    fires: ['MayflyUnreachable'],
    series: { 'probe_success{job="mayfly-outside",instance="https://mayfly.example"}': `1x${FAULT_AT} 0x${REST}` },
  },
  {
    name: 'one request of twenty fails',
    fires: ['MayflyAvailabilityFast', 'MayflyAvailabilitySlow'],
    series: { [requests(500)]: `0x${FAULT_AT} 0+3x${REST}` },
  },
  {
    name: 'one request of 120 fails, for hours',
    fires: ['MayflyAvailabilitySlow'],
    series: { [requests(503)]: `0x60 0+0.5x${END - 60}` },
  },
  {
    name: 'one request of six is slow',
    fires: ['MayflyLatency'],
    series: { [QUICK]: `0+60x${FAULT_AT} 21600+50x${REST}` },
  },
  {
    name: 'something stays due',
    fires: ['MayflyCleanupBehind'],
    series: { 'mayfly_due_age{mayfly_kind="upload"}': `60x${FAULT_AT} 60+60x${REST}` },
  },
  { name: 'sweeps fail', fires: ['MayflyNoSweep'], series: { [SWEPT]: `0+60x${FAULT_AT} 21600x${REST}` } },
  {
    name: 'blobs cannot be deleted',
    fires: ['MayflyOutboxGrows'],
    series: { mayfly_blob_deletions: `0x${FAULT_AT} 150+10x${REST}` },
  },
  {
    name: 'many more uploads than before',
    fires: ['MayflyStorageGrows'],
    series: { [BYTES]: `20000000000x60 20000000000+100000000x${END - 60}` },
  },
  {
    name: 'Redis is away',
    fires: ['MayflyRedisFallback'],
    series: {
      [decisions('redis')]: `0+99x${FAULT_AT} 35640x${REST}`,
      [decisions('memory')]: `0+1x${FAULT_AT} 360+100x${REST}`,
    },
  },
  {
    name: 'a payload is lost, the first that ever was',
    fires: ['MayflyReconcileFindings'],
    series: { [findings('lost', 'mended')]: `0x${FAULT_AT} 1x${REST}` },
  },
  {
    name: 'a comparison is refused, the first that ever was',
    fires: ['MayflyReconcileFindings'],
    series: { [findings('refused', 'refused')]: `0x${FAULT_AT} 1x${REST}` },
  },
  {
    name: 'one statement of ten waits long',
    fires: ['MayflyPoolExhausted'],
    series: { [waits('0.25')]: `0+100x${FAULT_AT} 36000+90x${REST}` },
  },
  {
    name: 'a replica is left out',
    fires: ['MayflyReplicaOut'],
    series: { [replicas('out')]: `0x${FAULT_AT} 1x${REST}` },
  },
  {
    name: 'a report waits for a day',
    fires: ['MayflyReportsWait'],
    series: { mayfly_report_age: `80000x${FAULT_AT} 86500+60x${REST}` },
  },
  {
    name: 'a process is silent',
    fires: ['MayflyTargetDown'],
    series: { 'up{job="mayfly",instance="a"}': `1x${FAULT_AT} 0x${REST}` },
  },
];

test('every alert has its fault here', () => {
  expect([...new Set(FAULTS.flatMap(({ fires }) => fires))].sort()).toEqual([...alerts].sort());
});

/** The series with more labels. */
const within = (series: Series, labels: string) =>
  Object.entries(series).map(([name, values]) => ({
    series: name.includes('{') ? name.replace('{', `{${labels}`) : `${name}{${labels}}`,
    values,
  }));

const firing = (minute: number, names: string[]) => ({
  expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
  eval_time: `${minute}m`,
  exp_samples: names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

describe.skipIf(!hasPromtool)('with promtool (skipped where it is not on the PATH)', () => {
  const run = async (inputs: { series: string; values: string }[], fires: string[], before: string[] = []) => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'tests.json');
    const checks = [firing(FAULT_AT - 10, before), firing(LOOKED_AT, fires)];
    const tests = [{ interval: '1m', input_series: inputs, promql_expr_test: checks }];
    await writeFile(path, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' });
    expect(status, stdout + stderr).toBe(0);
  };
  /** One that creeps is seen before the others begin. */
  const firesBefore = ({ name, fires }: Fault) => (/for hours|than before/.test(name) ? fires : []);

  test.each(FAULTS)('$name: fires $fires and no other alert', async (fault) => {
    const well = Object.entries(WELL).filter(([name]) => !fault.without?.test(name));
    await run(within({ ...Object.fromEntries(well), ...fault.series }, ''), fault.fires, firesBefore(fault));
  });

  test('a fault of one installation is not lost beside a larger one', async () => {
    const large = Object.fromEntries(
      Object.entries(WELL).map(([name, values]) => [
        name,
        [requests(200), QUICK].includes(name) ? `0+60000x${END}` : values,
      ]),
    );
    const ill = { ...WELL, [requests(500)]: `0x${FAULT_AT} 0+3x${REST}` };
    await run(
      [...within(large, 'namespace="large",'), ...within(ill, 'namespace="small",')],
      ['MayflyAvailabilityFast', 'MayflyAvailabilitySlow'],
    );
  });
});
