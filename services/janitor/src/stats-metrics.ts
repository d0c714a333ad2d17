import type { Logger } from '@mayfly/shared/logger';
import type { Desk } from '@mayfly/store/reports';
import type { Stats, StoreStats } from '@mayfly/store/stats';
import { metrics } from '@opentelemetry/api';

/** The tables are looked at once for all who ask within this time. */
const FRESH_MS = 15_000;

/** What is held and what waits, asked of the tables when somebody asks for metrics. */
export function observeStats(stats: StoreStats, desk: Pick<Desk, 'oldestSec'>, logger: Logger) {
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
  const oldestReport = meter.createObservableGauge('mayfly.report.age', {
    description: 'For how long the oldest report that nobody has closed is open; 0 without one',
    unit: 's',
  });
  type Figures = Stats & { oldestReportSec: number };
  const look = async () => ({ ...(await stats.read()), oldestReportSec: await desk.oldestSec() });
  let read: { at: number; stats: Promise<Figures> } | undefined;
  const fresh = () => {
    if (!read || performance.now() - read.at > FRESH_MS) read = { at: performance.now(), stats: look() };
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
      result.observe(oldestReport, now.oldestReportSec);
    },
    [items, bytes, oldest, outbox, oldestReport],
  );
}
