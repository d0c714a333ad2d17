import { setTimeout as sleep } from 'node:timers/promises';
import { startCollector } from '@mayfly/testing/collector';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { describe, expect, test } from 'vitest';
import { NOTICE_SETTINGS, useEverything } from './scrape.ts';

describe.each(SHAPES)('canaries (%s)', (shape) => {
  test('traces, metrics and logs hold no address, id, token, secret, size or plaintext', {
    timeout: 240_000,
  }, async () => {
    await using collector = await startCollector();
    const settings = {
      ...collector.settings,
      LOG_LEVEL: 'trace',
      TRUST_PROXY: '1',
      TOKEN_FAILURES_MAX: '20',
      ...NOTICE_SETTINGS,
    };
    const running = await startShape(shape, settings);
    const canaries = await useEverything(running, '203.0.113.77');
    await sleep(2_500); // a sweep has removed what has expired
    const scraped = await Promise.all(
      running.processes.map(async ({ adminUrl }) => (await fetch(`${adminUrl}/metrics`)).text()),
    );
    await running[Symbol.asyncDispose](); // sends what is left
    const places: Record<string, string> = {
      'traces and metrics over OTLP': collector.bodies.join('\n'),
      'Prometheus text': scraped.join('\n'),
      logs: running.processes.map((process) => process.output()).join('\n'),
    };
    // The search finds what is there: each place is full, and tells of the same routes.
    for (const [place, text] of Object.entries(places)) expect(text, place).toContain('/api/download/:id');
    expect(canaries.length).toBeGreaterThan(20);
    for (const [place, text] of Object.entries(places)) {
      const found = canaries.filter((canary) => canary.length > 3 && text.includes(canary));
      expect(found, place).toEqual([]);
    }
  });
});
