import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { beforeAll, describe, expect, test } from 'vitest';
import { metricNames, NOTICE_SETTINGS, type Sample, scrape, useEverything } from './scrape.ts';

const documented = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8');

/** Everything that a label may be called; a new one is to be thought about. */
const LABELS = [
  'cpu_mode',
  'db_client_connection_pool_name',
  'db_client_connection_state',
  'db_operation_name',
  'db_system_name',
  'error_type',
  'http_request_method',
  'http_response_status_code',
  'http_route',
  'le',
  'mayfly_blob_store',
  'mayfly_change',
  'mayfly_decision',
  'mayfly_event',
  'mayfly_job',
  'mayfly_kept_by',
  'mayfly_kind',
  'mayfly_operation',
  'mayfly_outcome',
  'mayfly_queue',
  'mayfly_service',
  'mayfly_state',
  'mayfly_upstream',
  'network_io_direction',
  'otel_scope_name',
  'service_name',
];

describe.each(SHAPES)('metrics (%s)', (shape) => {
  const limits = { TOKEN_FAILURES_MAX: '20', RATE_LIMIT_MAX: '1000' };
  const running = inSuite(() => startShape(shape, { ...limits, ...NOTICE_SETTINGS }));
  let samples: Sample[];
  beforeAll(async () => {
    await useEverything(running(), '203.0.113.77');
    await sleep(2_500); // a sweep has removed what has expired
    samples = await scrape(running());
  });

  const total = (name: string, labels: Record<string, string> = {}) =>
    samples
      .filter((sample) => sample.name === name)
      .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
      .reduce((sum, { value }) => sum + value, 0);

  test('everything that is exposed is in docs/observability.md, and the other way round', () => {
    const names = metricNames(samples).filter((name) => name !== 'target_info');
    const listed = [...documented.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(names).toEqual([...new Set(listed)].sort());
  });

  test('no label is called by anything but a known name, and every figure is a number', () => {
    const labels = samples.filter(({ name }) => name !== 'target_info').flatMap((sample) => Object.keys(sample.labels));
    expect([...new Set(labels)].filter((label) => !LABELS.includes(label))).toEqual([]);
    expect(samples.filter(({ value }) => Number.isNaN(value))).toEqual([]);
    for (const route of samples.flatMap(({ labels: { http_route = '/' } }) => http_route)) {
      expect(route).toMatch(/^(\/[a-z:./*-]*|unknown)+$/i);
    }
  });

  test('the funnel counts what happened', () => {
    const events = (kind: string, event: string) =>
      total('mayfly_items_events_total', { mayfly_kind: kind, mayfly_event: event });
    expect(events('upload', 'started')).toBe(3);
    expect(events('upload', 'finished')).toBe(3);
    expect(events('upload', 'first_used')).toBe(2);
    expect(events('upload', 'spent')).toBe(1);
    expect(events('upload', 'deleted')).toBe(1);
    expect(events('upload', 'expired_unused')).toBe(1);
    expect([events('note', 'finished'), events('note', 'spent')]).toEqual([1, 1]);
    expect(total('mayfly_tokens_wrong_total')).toBe(1);
    expect(
      total('mayfly_limits_decisions_total', { mayfly_decision: 'admitted', mayfly_kept_by: 'redis' }),
    ).toBeGreaterThan(5);
    expect(total('mayfly_quota_bytes_total', { mayfly_change: 'charged' })).toBeGreaterThan(2_000_000);
  });

  test('attempts to tell somebody are counted', () => {
    expect(total('mayfly_notices_total', { mayfly_kind: 'webhook' })).toBeGreaterThan(0);
    expect(total('mayfly_notices_waiting', { mayfly_kind: 'note' })).toBe(1);
  });

  test('requests, bytes and stores are measured at each place once', () => {
    const requests = (service: string) =>
      total('http_server_request_duration_count', { http_route: '/api/upload', mayfly_service: service });
    expect([requests('gateway'), requests('files')]).toEqual([2, 2]);
    const received = total('mayfly_http_bytes_total', {
      http_route: '/api/upload',
      mayfly_service: 'gateway',
      network_io_direction: 'receive',
    });
    expect(received).toBeGreaterThan(2_000_000);
    expect(total('db_client_operation_duration_count', { db_operation_name: 'uploads.publish' })).toBe(2);
    expect(total('mayfly_blob_store_operation_duration_count', { mayfly_operation: 'put' })).toBe(2);
    expect(total('mayfly_job_last_success', { mayfly_job: 'sweep' })).toBeGreaterThan(Date.now() / 1000 - 60);
    expect(total('http_server_active_requests')).toBe(0);
  });

  test('the public port has no metrics', async () => {
    expect((await fetch(`${running().baseUrl}/metrics`)).status).toBe(404);
  });
});
