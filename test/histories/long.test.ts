import { expect, test } from 'vitest';
import { type Report, runHistory } from './run-history.ts';
import { describeViolation, summaryOf } from './summary.ts';

// npm run chaos: one history after the other, each with the next seed, until the time is over or one is wrong.

const { TEST_CHAOS } = process.env;
const { minutes, seed, shapes } = JSON.parse(TEST_CHAOS || '{"minutes":0,"seed":0,"shapes":[]}') as {
  minutes: number;
  seed: number;
  shapes: ('all' | 'split')[];
};
/** Of one history: what is wrong is then not far from where it happened. */
const MINUTES_EACH = 1;

test.skipIf(!TEST_CHAOS)('long histories (npm run chaos)', { timeout: (minutes + 10) * 60_000 }, async () => {
  const until = Date.now() + minutes * 60_000;
  const reports: Report[] = [];
  for (let next = seed; next === seed || Date.now() < until; next += 1) {
    const shape = shapes[(next - seed) % shapes.length] ?? 'all';
    const report = await runHistory({ shape, seed: next, minutes: MINUTES_EACH });
    reports.push(report);
    console.log(`seed ${next}, ${shape}: ${summaryOf([report])}`);
    if (report.violations.length > 0) {
      console.log(report.violations.map(describeViolation).join('\n'));
      console.log(`Again: npm run chaos -- --minutes 1 --seed ${next} --shape ${shape}`);
    }
    expect(report.violations.map(({ rule }) => rule)).toEqual([]);
  }
  console.log(`${reports.length} histories: ${summaryOf(reports)}`);
});
