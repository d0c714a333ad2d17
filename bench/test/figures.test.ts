import { ticksOf } from '@mayfly/testing/proc';
import { describe, expect, test } from 'vitest';
import { readArguments } from '../src/arguments.ts';
import { parseHead } from '../src/connection.ts';
import { judge } from '../src/goals.ts';
import { percentile } from '../src/load.ts';
import { type Figures, figuresOf, type Round } from '../src/measure.ts';

test('a percentile is the value of the nearest rank', () => {
  expect(percentile([30, 10, 20], 50)).toBe(20);
  expect(
    percentile(
      Array.from({ length: 200 }, (_, index) => index + 1),
      99,
    ),
  ).toBe(198);
  expect(percentile([], 50)).toBeNaN();
});

test('ticks are user and system time of a process and its ended children, whatever its name holds', () => {
  expect(ticksOf('7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 100 20 3 4 20 0 1')).toBe(127);
});

test('the head of an answer gives status and size; without a size it is an error', () => {
  expect(parseHead('HTTP/1.1 201 Created\r\nContent-Length: 12')).toEqual({ status: 201, sizeBytes: 12 });
  expect(() => parseHead('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked')).toThrow('Content-Length');
});

test('figures are medians of the rounds, and time of processors per 1,000 requests and per GB', () => {
  const round = (requests: number, cpuSec: number): Round => {
    return {
      requests,
      seconds: 2,
      bytes: 5e8,
      p50Ms: 1,
      p99Ms: 9,
      cpuSec: { all: cpuSec },
      peakBytes: { all: 1 },
      generatorCpuSec: 1,
    };
  };
  const target = { name: 'all', url: '', processes: { all: 1 } };
  const figures = figuresOf('info', target, [round(100, 1), round(300, 3), round(1_000, 0.1)]);
  expect(figures).toMatchObject({ requestsPerSec: 150, megabytesPerSec: 250, cpuPerThousand: 10, cpuPerGigabyte: 2 });
});

describe('goals', () => {
  const row = (scenario: string, target: string, figures: Partial<Figures>): Figures => {
    const base = {
      rounds: 3,
      requestsPerSec: 1_000,
      megabytesPerSec: 100,
      p50Ms: 1,
      p99Ms: 2,
      peakMegabytesOf: { all: 150 },
    };
    return { scenario, target, ...base, cpuPerThousand: 0.1, cpuPerGigabyte: 1, cpuPerThousandOf: {}, ...figures };
  };

  test('a large upload is judged by the sink of the same run', () => {
    const sink = row('upload-1g', 'sink', { megabytesPerSec: 100 });
    const goal = 'upload-1g of the speed of sink at least 0.900';
    const slow = judge([sink, row('upload-1g', 'all', { megabytesPerSec: 89 })], 'all', undefined);
    const fast = judge([sink, row('upload-1g', 'all', { megabytesPerSec: 91 })], 'all', undefined);
    expect(slow).toContainEqual({ goal, figure: '0.890', isMet: false });
    expect(fast).toContainEqual({ goal, figure: '0.910', isMet: true });
  });

  test('requests per second are judged against the peer, scaled by what Fastify does in the same run', () => {
    const goals = judge([row('info', 'fastify', { requestsPerSec: 4_580 }), row('info', 'all', {})], 'all', 131);
    expect(goals.find(({ goal }) => goal.startsWith('info requests/s'))?.goal).toContain('at least 627');
    expect(goals.find(({ goal }) => goal.startsWith('memory idle'))?.isMet).toBe(false);
  });
});

test('in split the gateway is judged by its own part of small requests', () => {
  const parts = { peakMegabytesOf: {}, cpuPerThousand: 0.5, cpuPerGigabyte: 1, p50Ms: 1, p99Ms: 2 };
  const row = (gateway: number): Figures => {
    const figures = { scenario: 'info', target: 'split', rounds: 3, requestsPerSec: 1, megabytesPerSec: 1 };
    return { ...figures, ...parts, cpuPerThousandOf: { gateway, files: 9 } };
  };
  const goal = 'gateway, info at most 0.1 CPU s per 1,000';
  expect(judge([row(0.09)], 'split', undefined)).toEqual([{ goal, figure: '0.0900', isMet: true }]);
  expect(judge([row(0.11)], 'split', undefined)).toEqual([{ goal, figure: '0.110', isMet: false }]);
});

test('the command line is checked', () => {
  expect(readArguments(['--quick', '--only', 'info'], ['info'])).toMatchObject({ kind: 'all', rounds: 1, seconds: 1 });
  expect(() => readArguments(['both'], [])).toThrow('all, split');
  expect(() => readArguments(['--rounds', '0'], [])).toThrow('--rounds');
});
