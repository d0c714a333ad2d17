import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/** What `npm test` prints as its last line. */
export type Counts = { passed: number; failed: number; skipped: number };

/** Counts the tests for the process that started vitest. Prints nothing. */
export default class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]) {
    const counts: Counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      // A file that cannot be loaded, or a hook that fails, has no test to show for it: each counts as one failure.
      const groups = [module, ...module.children.allSuites()];
      counts.failed += groups.reduce((sum, group) => sum + (group.errors().length > 0 ? 1 : 0), 0);
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') counts.passed += 1;
        else if (state === 'failed') counts.failed += 1;
        else counts.skipped += 1;
      }
    }
    process.send?.(counts);
  }
}
