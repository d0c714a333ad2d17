import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Dashboard, grafanaJson, panel, stat, within } from './grafana.ts';

// node deploy/observability/dashboards.ts: writes the dashboards that Grafana reads, and rules and dashboards for Kubernetes. A test fails when
// they differ.

const GATEWAY = 'mayfly_service="gateway"';
/** A share of time by which so many observations were done, per label. */
const quantile = (share: number, metric: string, by: string, filter = '') =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${metric}_bucket{${filter}}[$__rate_interval])))`;
/** A counter does not exist until it has counted something: until then it is 0. */
const orNone = (expr: string) => `(${expr}) or vector(0)`;
const events = (kind: string, event: string) =>
  orNone(`sum(rate(mayfly_items_events_total{mayfly_kind="${kind}",mayfly_event="${event}"}[$__rate_interval]))`);

export const dashboards: Dashboard[] = [
  {
    uid: 'mayfly-overview',
    title: 'Mayfly: overview',
    panels: [
      stat(
        'Requests per second',
        'reqps',
        `sum(rate(http_server_request_duration_count{${GATEWAY}}[$__rate_interval]))`,
      ),
      stat('Items held', 'short', 'max(sum by (service_name, instance) (mayfly_items{mayfly_state="available"}))'),
      stat('Bytes held', 'bytes', 'max(sum by (service_name, instance) (mayfly_items_bytes))'),
      within(300, 600, stat('Oldest due item', 's', 'max(mayfly_due_age)')),
      panel('Requests by status', 'reqps', [
        `sum by (http_response_status_code) (rate(http_server_request_duration_count{${GATEWAY}}[$__rate_interval]))`,
        '{{http_response_status_code}}',
      ]),
      panel('Bytes in and out', 'Bps', [
        `sum by (network_io_direction) (rate(mayfly_http_bytes_total{${GATEWAY}}[$__rate_interval]))`,
        '{{network_io_direction}}',
      ]),
      panel(
        'Uploads: the funnel',
        'ops',
        ...['started', 'finished', 'aborted', 'first_used', 'spent', 'expired_unused'].map(
          (event) => [events('upload', event), event] as [string, string],
        ),
      ),
      panel(
        'Notes: the funnel',
        'ops',
        ...['finished', 'first_used', 'spent', 'expired_unused'].map(
          (event) => [events('note', event), event] as [string, string],
        ),
      ),
      panel('What the limits decide', 'ops', [
        'sum by (mayfly_decision, mayfly_kept_by) (rate(mayfly_limits_decisions_total[$__rate_interval]))',
        '{{mayfly_decision}} ({{mayfly_kept_by}})',
      ]),
      panel('Wrong tokens', 'ops', [orNone('sum(rate(mayfly_tokens_wrong_total[$__rate_interval]))'), 'wrong']),
      panel('Bytes charged to quotas', 'Bps', [
        orNone('sum by (mayfly_change) (rate(mayfly_quota_bytes_total[$__rate_interval]))'),
        '{{mayfly_change}}',
      ]),
    ],
  },
  {
    uid: 'mayfly-services',
    title: 'Mayfly: services',
    panels: [
      panel('Requests by route', 'reqps', [
        'sum by (mayfly_service, http_route) (rate(http_server_request_duration_count[$__rate_interval]))',
        '{{mayfly_service}} {{http_route}}',
      ]),
      panel('Time by route, 99 %', 's', [
        quantile(0.99, 'http_server_request_duration', 'mayfly_service, http_route'),
        '{{mayfly_service}} {{http_route}}',
      ]),
      panel('Errors by route', 'reqps', [
        orNone(
          'sum by (mayfly_service, http_route) (rate(http_server_request_duration_count{http_response_status_code=~"5.."}[$__rate_interval]))',
        ),
        '{{mayfly_service}} {{http_route}}',
      ]),
      panel('Requests being answered', 'short', [
        'sum by (mayfly_service, http_route) (http_server_active_requests)',
        '{{mayfly_service}} {{http_route}}',
      ]),
      panel('PostgreSQL and Redis, 99 %', 's', [
        quantile(0.99, 'db_client_operation_duration', 'db_system_name, db_operation_name'),
        '{{db_system_name}} {{db_operation_name}}',
      ]),
      panel('Blob store, 99 %', 's', [
        quantile(0.99, 'mayfly_blob_store_operation_duration', 'mayfly_operation'),
        '{{mayfly_operation}}',
      ]),
      within(
        0.05,
        0.25,
        panel('Waits for PostgreSQL, 95 %', 's', [
          quantile(0.95, 'db_client_connection_wait_time', 'service_name, mayfly_queue'),
          '{{service_name}} {{mayfly_queue}}',
        ]),
      ),
      panel(
        'PostgreSQL connections',
        'short',
        ['sum by (db_client_connection_state) (db_client_connection_count)', '{{db_client_connection_state}}'],
        ['sum(db_client_connection_pending_requests)', 'waiting'],
        ['sum(db_client_connection_max)', 'most'],
      ),
      within(
        0.1,
        0.5,
        panel('Event loop delay, 99 %', 's', ['nodejs_eventloop_delay_p99', '{{service_name}} {{instance}}']),
      ),
      within(
        0.7,
        0.9,
        panel('Event loop in use', 'percentunit', ['nodejs_eventloop_utilization', '{{service_name}} {{instance}}']),
      ),
      panel('Memory', 'bytes', ['process_memory_usage', '{{service_name}} {{instance}}']),
      panel('CPU', 'percentunit', [
        'sum by (service_name, instance) (rate(process_cpu_time_total[$__rate_interval]))',
        '{{service_name}} {{instance}}',
      ]),
    ],
  },
  {
    uid: 'mayfly-janitor',
    title: 'Mayfly: janitor',
    panels: [
      within(300, 600, panel('Oldest due item', 's', ['max by (mayfly_kind) (mayfly_due_age)', '{{mayfly_kind}}'])),
      panel('Blobs to delete', 'short', ['max(mayfly_blob_deletions)', 'noted']),
      panel('Removed', 'ops', ['sum by (mayfly_kind) (rate(mayfly_swept_total[$__rate_interval]))', '{{mayfly_kind}}']),
      panel('Since the last success', 's', [
        'time() - max by (mayfly_job) (mayfly_job_last_success)',
        '{{mayfly_job}}',
      ]),
      panel('Time of jobs, 95 %', 's', [
        quantile(0.95, 'mayfly_job_duration', 'mayfly_job, mayfly_outcome'),
        '{{mayfly_job}} {{mayfly_outcome}}',
      ]),
      panel('Jobs begin late by, 95 %', 's', [quantile(0.95, 'mayfly_job_lag', 'mayfly_job'), '{{mayfly_job}}']),
      panel('Comparison: findings in a day', 'short', [
        'sum by (mayfly_kind) (increase(mayfly_reconcile_findings_total[1d]))',
        '{{mayfly_kind}}',
      ]),
      panel('Items by state', 'short', [
        'max by (mayfly_kind, mayfly_state) (mayfly_items)',
        '{{mayfly_kind}} {{mayfly_state}}',
      ]),
      panel('Bytes by kind', 'bytes', ['max by (mayfly_kind) (mayfly_items_bytes)', '{{mayfly_kind}}']),
    ],
  },
  {
    uid: 'mayfly-slo',
    title: 'Mayfly: objectives',
    panels: [
      within(0.9995, 0.999, stat('Availability, 1 hour', 'percentunit', '1 - mayfly:errors:ratio1h')),
      within(0.99, 0.95, stat('Quick answers, 5 minutes', 'percentunit', '1 - mayfly:slow:ratio5m')),
      panel(
        'Error budget: how many times too fast',
        'short',
        ['mayfly:errors:ratio5m / 0.001', '5 minutes'],
        ['mayfly:errors:ratio30m / 0.001', '30 minutes'],
        ['mayfly:errors:ratio1h / 0.001', '1 hour'],
        ['mayfly:errors:ratio6h / 0.001', '6 hours'],
      ),
      within(0.01, 0.05, panel('Small requests over half a second', 'percentunit', ['mayfly:slow:ratio5m', 'slow'])),
      panel('Requests', 'reqps', ['mayfly:requests:rate5m', 'requests']),
    ],
  },
];

const RULES = join(import.meta.dirname, 'rules/mayfly.yaml');
const indented = (text: string, by: number) => text.trimEnd().replaceAll(/^(?=.)/gm, ' '.repeat(by));
const PART_OF = 'app.kubernetes.io/part-of: mayfly';

/** The rules as the Prometheus Operator takes them. */
export const prometheusRule = () => `# Written by node deploy/observability/dashboards.ts.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: mayfly
  labels: { ${PART_OF} }
spec:
${indented(readFileSync(RULES, 'utf8'), 2)}
`;

/** The dashboards as Grafana's sidecar finds them: by a label. */
export const dashboardMaps = () =>
  dashboards
    .map(
      (dashboard) => `# Written by node deploy/observability/dashboards.ts.
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${dashboard.uid}
  labels: { ${PART_OF}, grafana_dashboard: "1" }
data:
  ${dashboard.uid}.json: |
${indented(grafanaJson(dashboard), 4)}
`,
    )
    .join('---\n');

export const MONITORING = join(import.meta.dirname, '../k8s/components/monitoring');

if (import.meta.main) {
  writeFileSync(join(MONITORING, 'rules.yaml'), prometheusRule());
  writeFileSync(join(MONITORING, 'dashboards.yaml'), dashboardMaps());
  for (const dashboard of dashboards) {
    writeFileSync(join(import.meta.dirname, `grafana/dashboards/${dashboard.uid}.json`), grafanaJson(dashboard));
  }
}
