import type { Funnel } from '@mayfly/shared/telemetry/funnel';
import { openFunnel } from '@mayfly/shared/telemetry/funnel';
import { SECONDS } from '@mayfly/shared/telemetry/operations';
import { context, metrics, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReconcileResult } from './reconcile.ts';
import type { SweepResult } from './sweep.ts';

export type JobMetrics = {
  /** Runs a job as one trace, and counts how late it began where it was due at some time, how long it took and how it ended. */
  run(job: string, dueAt: number | undefined, work: () => Promise<void>): Promise<void>;
  swept(result: SweepResult): void;
  reconciled(result: ReconcileResult): void;
};

/** Sweeps and comparisons take longer than requests. */
const JOB_SECONDS = [...SECONDS, 30, 60, 300, 1_800];

const FINDINGS = ['orphan', 'lost', 'found', 'partial', 'refused'];
const OUTCOMES: ReconcileResult['outcome'][] = ['mended', 'counted', 'refused'];

/** What the janitor is watched by: its jobs, and what they did. */
export function openJobMetrics(): JobMetrics {
  const meter = metrics.getMeter('mayfly');
  const tracer = trace.getTracer('mayfly');
  const advice = { explicitBucketBoundaries: JOB_SECONDS };
  const duration = meter.createHistogram('mayfly.job.duration', {
    description: 'Time that a job of the janitor took',
    unit: 's',
    advice,
  });
  const lag = meter.createHistogram('mayfly.job.lag', {
    description: 'Time by which a job began later than it was due',
    unit: 's',
    advice,
  });
  const lastSuccess = meter.createGauge('mayfly.job.last_success', {
    description: 'When a job last succeeded in this process, in seconds since 1970',
    unit: 's',
  });
  const removed = meter.createCounter('mayfly.swept', { description: 'What sweeps removed, by kind' });
  const findings = meter.createCounter('mayfly.reconcile.findings', {
    description: 'What comparisons of blob store and database found',
  });
  // Prometheus sees a counter grow only from a value that it has seen before: without this the first finding would be none.
  for (const kind of FINDINGS) {
    for (const outcome of OUTCOMES) findings.add(0, { 'mayfly.kind': kind, 'mayfly.outcome': outcome });
  }
  const [uploads, notes, requests] = [openFunnel('upload'), openFunnel('note'), openFunnel('request')];
  const expire = (funnel: Funnel, expired = 0, unused = 0) => {
    funnel('expired', expired);
    funnel('expired_unused', unused);
  };
  return {
    async run(job, dueAt, work) {
      const attributes = { 'mayfly.job': job };
      if (dueAt !== undefined) lag.record(Math.max(Date.now() - dueAt, 0) / 1000, attributes);
      const span = tracer.startSpan(`job ${job}`, { attributes }, ROOT_CONTEXT);
      const start = performance.now();
      let outcome = 'failed';
      try {
        await context.with(trace.setSpan(ROOT_CONTEXT, span), work);
        outcome = 'done';
        lastSuccess.record(Date.now() / 1000, attributes);
      } finally {
        duration.record((performance.now() - start) / 1000, { ...attributes, 'mayfly.outcome': outcome });
        if (outcome === 'failed') span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      }
    },
    swept(result) {
      const kinds: [string, number | undefined][] = [
        ['upload', result.uploadsRetired],
        ['abandoned_upload', result.uploadsAbandoned],
        ['download_lease', result.leasesEnded],
        ['note', result.notesRetired],
        ['request', result.requestsRetired],
        ['report', result.reportsEnded],
        ['blob', result.blobsDeleted],
        ['blob_failed', result.blobsFailed],
        ['tombstone', result.tombstonesEnded],
      ];
      for (const [kind, count = 0] of kinds) removed.add(count, { 'mayfly.kind': kind });
      expire(uploads, result.uploadsExpired, result.uploadsUnused);
      expire(notes, result.notesExpired, result.notesUnused);
      expire(requests, result.requestsRetired);
    },
    reconciled({ orphans, lost, found, partials, outcome, problem }) {
      const refused = problem === undefined ? 0 : 1;
      for (const [kind, count] of Object.entries({ orphan: orphans, lost, found, partial: partials, refused })) {
        findings.add(count, { 'mayfly.kind': kind, 'mayfly.outcome': outcome });
      }
    },
  };
}
