import type { Logger } from '@mayfly/shared/logger';
import type { Funnel } from '@mayfly/shared/telemetry/funnel';
import { openFunnel } from '@mayfly/shared/telemetry/funnel';
import { SECONDS } from '@mayfly/shared/telemetry/operations';
import type { Stats, StoreStats } from '@mayfly/store/stats';
import { context, metrics, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReconcileResult } from './reconcile.ts';
import type { SweepResult } from './sweep.ts';

export type JobWatch = {
  /** Runs a job as one trace, and counts how late it began, how long it took and how it ended. */
  run(job: string, dueAt: number, work: () => Promise<void>): Promise<void>;
  swept(result: SweepResult): void;
  reconciled(result: ReconcileResult): void;
};

/** Sweeps and comparisons take longer than requests. */
const JOB_SECONDS = [...SECONDS, 30, 60, 300, 1_800];

/** What the janitor is watched by: its jobs, and what they did. */
export function watchJobs(): JobWatch {
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
  const [uploads, notes] = [openFunnel('upload'), openFunnel('note')];
  const expire = (funnel: Funnel, expired = 0, unused = 0) => {
    funnel('expired', expired);
    funnel('expired_unused', unused);
  };
  return {
    async run(job, dueAt, work) {
      const attributes = { 'mayfly.job': job };
      lag.record(Math.max(Date.now() - dueAt, 0) / 1000, attributes);
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
        ['note', result.notesRetired],
        ['blob', result.blobsDeleted],
        ['blob_failed', result.blobsFailed],
        ['tombstone', result.tombstonesEnded],
      ];
      for (const [kind, count = 0] of kinds) removed.add(count, { 'mayfly.kind': kind });
      expire(uploads, result.uploadsExpired, result.uploadsUnused);
      expire(notes, result.notesExpired, result.notesUnused);
    },
    reconciled({ orphans, lost, found, partials, outcome, problem }) {
      const refused = problem === undefined ? 0 : 1;
      for (const [kind, count] of Object.entries({ orphan: orphans, lost, found, partial: partials, refused })) {
        findings.add(count, { 'mayfly.kind': kind, 'mayfly.outcome': outcome });
      }
    },
  };
}

/** The tables are looked at once for all who ask within this time. */
const FRESH_MS = 15_000;

/** What is held and what waits, asked of the tables when somebody asks for metrics. */
export function observeStats(stats: StoreStats, logger: Logger) {
  const meter = metrics.getMeter('mayfly');
  const items = meter.createObservableGauge('mayfly.items', { description: 'Uploads and notes, by state' });
  const bytes = meter.createObservableGauge('mayfly.items.bytes', {
    description: 'Bytes of ciphertext that uploads and notes hold',
    unit: 'By',
  });
  const oldest = meter.createObservableGauge('mayfly.due.age', {
    description: 'For how long what has waited longest for the sweep has waited',
    unit: 's',
  });
  const outbox = meter.createObservableGauge('mayfly.blob_deletions', {
    description: 'Blobs that are noted for deletion (counted up to 100,000)',
  });
  let read: { at: number; stats: Promise<Stats> } | undefined;
  const fresh = () => {
    if (!read || performance.now() - read.at > FRESH_MS) read = { at: performance.now(), stats: stats.read() };
    return read.stats;
  };
  meter.addBatchObservableCallback(
    async (result) => {
      const now = await fresh().catch((err: unknown) => {
        logger.debug({ err }, 'the tables were not looked at');
        return undefined; // a figure that is not known is left out
      });
      if (!now) return;
      for (const [kind, held] of Object.entries({ upload: now.uploads, note: now.notes })) {
        for (const { state, count, bytes: size } of held) {
          result.observe(items, count, { 'mayfly.kind': kind, 'mayfly.state': state });
          result.observe(bytes, size, { 'mayfly.kind': kind, 'mayfly.state': state });
        }
      }
      for (const [kind, seconds] of Object.entries(now.oldestDueSec)) {
        result.observe(oldest, seconds, { 'mayfly.kind': kind });
      }
      result.observe(outbox, now.blobDeletions);
    },
    [items, bytes, oldest, outbox],
  );
}
