import { expect, test } from 'vitest';
import { junit, plainLine } from '../src/reports.ts';
import type { Result } from '../src/run.ts';

const hostile: Result = {
  section: '3.1',
  name: 'a case',
  outcome: 'failed',
  reason: 'got "<b>&\u001b[2J\ud800 \u0000"\nand more',
  seconds: 1,
};

test('a report shows what a server said, and does not do what it says', () => {
  expect(junit([hostile])).toContain(
    'message="got &quot;&lt;b&gt;&amp;\\u001b[2J\ufffd \\u0000&quot;&#10;and more"/></testcase>',
  );
  expect(plainLine(hostile)).toBe('FAIL 3.1  a case\n       got "<b>&\\u001b[2J\ud800 \\u0000"\n       and more');
});

test('a report for CI systems counts', () => {
  const results: Result[] = [hostile, { ...hostile, outcome: 'skipped' }, { ...hostile, outcome: 'passed' }];
  expect(junit(results)).toContain('tests="3" failures="1" skipped="1" time="3.000"');
});
