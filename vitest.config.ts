import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { texts } from './apps/web/build/texts/plugin.ts';
import LongestFirst from './scripts/test/longest-first.ts';

export default defineConfig({
  plugins: [texts()],
  test: {
    include: ['{libs,services,apps}/*/test/**/*.test.ts', '{test,bench/test}/**/*.test.ts'],
    // PostgreSQL and Redis for all tests, started once.
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './scripts/test/counts-reporter.ts'],
    // Tests start processes and wait for real time-outs; a slow machine must not fail them.
    sequence: { sequencer: LongestFirst },
    testTimeout: 180_000,
    hookTimeout: 240_000,
    pool: 'forks',
    maxWorkers: Math.max(3, availableParallelism() - 1), // most of the time they wait: two kept two cores busy for 60 %
  },
});
