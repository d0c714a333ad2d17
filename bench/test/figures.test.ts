import { spawn } from 'node:child_process';
import { programOf, proportionalBytes, ticksOf } from '@mayfly/testing/proc';
import { describe, expect, test, vi } from 'vitest';
import { readArguments } from '../src/arguments.ts';
import { parseHead } from '../src/connection.ts';
import { judge } from '../src/goals.ts';
import { readProcessors, shareOfOthers } from '../src/guard.ts';
import { percentile } from '../src/load.ts';
import { type Figures, figuresOf, type Round } from '../src/measure.ts';
import { ratiosTable } from '../src/table.ts';

const WAIT = { timeout: 10_000 };

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

test('a program is the file that Node runs, or what a process calls itself', () => {
  expect(programOf('/opt/node\0--expose-gc\0/srv/services/all/src/main.ts\0')).toBe('all/src/main.ts');
  expect(programOf('postgres: io worker 0')).toBe('postgres');
  expect(programOf('/usr/bin/redis-server 127.0.0.1:1\0')).toBe('redis-server');
  expect(programOf('/bin/sh\0-c\0sleep')).toBe('sh');
});

test.skipIf(process.platform !== 'linux')(
  'memory of all that runs holds every child (needs /proc: Linux)',
  async () => {
    const child = spawn('/bin/sleep', ['60']);
    const { pid } = process;
    try {
      await vi.waitFor(() => expect(proportionalBytes(pid).sleep).toBeGreaterThan(0), WAIT);
    } finally {
      child.kill();
    }
    await vi.waitFor(() => expect(proportionalBytes(pid)).not.toHaveProperty('sleep'), WAIT);
  },
);

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
      p999Ms: 9,
      cpuSec: { all: cpuSec },
      peakBytes: { all: 1 },
      generatorCpuSec: 1,
    };
  };
  const target = { name: 'all', url: '', processes: { all: 1 } };
  const figures = figuresOf('info', target, [round(100, 1), round(300, 3), round(1_000, 0.1)]);
  expect(figures).toMatchObject({ requestsPerSec: 150, megabytesPerSec: 250, cpuPerThousand: 10, cpuPerGigabyte: 2 });
});

test('what others take is what was at work but for what is measured, of all processors', () => {
  const line = (user: number, idle: number, steal: number) =>
    `cpu  ${user} 100 200 ${idle} 50 7 9 ${steal} 40 0\ncpu0 1 2 3\n`;
  const [before, after] = [readProcessors(line(1_000, 5_000, 10)), readProcessors(line(1_500, 5_400, 110))];
  expect(after.total - before.total).toBeCloseTo(10);
  expect(shareOfOthers({ ...before, own: 3 }, { ...after, own: 7 })).toBeCloseTo(0.2);
  expect(shareOfOthers({ ...before, own: 3 }, { ...after, own: 10 })).toBe(0); // clocks that count differently
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

  test('requests per second and their cost are judged by the peer of the same run, and not at all without one', () => {
    const own = row('info', 'all', { requestsPerSec: 3_600, cpuPerThousand: 0.1 });
    const peer = row('info', 'peer', { requestsPerSec: 1_000, cpuPerThousand: 0.2 });
    const goals = judge([own, peer], 'all', 131);
    expect(goals).toContainEqual({ goal: 'info requests/s of the peer at least 3.50', figure: '3.60', isMet: true });
    expect(goals).toContainEqual({ goal: 'info at most 0.3 of the CPU of the peer', figure: '0.500', isMet: false });
    expect(goals.find(({ goal }) => goal.startsWith('memory idle'))?.isMet).toBe(false);
    expect(judge([own], 'all', 131).filter(({ goal }) => goal.includes('peer'))).toEqual([]);
  });

  test('ratios are those of one service to everything else of the same run', () => {
    const rows = [row('info', 'fastify', { requestsPerSec: 4_000 }), row('info', 'all', { cpuPerThousand: 0.25 })];
    expect(ratiosTable(rows, 'all')).toMatch(/^info +all \/ fastify +0\.25 +2\.50$/m);
  });
});

test('in split the gateway is judged by its own part of small requests', () => {
  const parts = { peakMegabytesOf: {}, cpuPerThousand: 0.5, cpuPerGigabyte: 1, p50Ms: 1, p99Ms: 2 };
  const row = (gateway: number): Figures => {
    const figures = { scenario: 'info', target: 'split', rounds: 3, requestsPerSec: 1, megabytesPerSec: 1 };
    return { ...figures, ...parts, cpuPerThousandOf: { gateway, files: 9 } };
  };
  const goal = 'gateway, info at most 0.12 CPU s per 1,000';
  expect(judge([row(0.11)], 'split', undefined)).toEqual([{ goal, figure: '0.110', isMet: true }]);
  expect(judge([row(0.13)], 'split', undefined)).toEqual([{ goal, figure: '0.130', isMet: false }]);
});

test('the command line is checked', () => {
  expect(readArguments(['--quick', '--only', 'info'], () => ['info'])).toMatchObject({
    kind: 'all',
    rounds: 1,
    seconds: 1,
  });
  expect(() => readArguments(['both'], () => [])).toThrow('all, split');
  expect(() => readArguments(['--rounds', '0'], () => [])).toThrow('--rounds');
  const peer = ['--beside', 'http://127.0.0.1:1/x', '--dialect', 'skysend', '--beside-pid', '7'];
  expect(readArguments(peer, () => []).peer).toEqual({
    name: 'peer',
    url: 'http://127.0.0.1:1',
    dialect: 'skysend',
    processes: { peer: 7 },
  });
  expect(() => readArguments([...peer, '--dialect', 'other'], () => [])).toThrow('mayfly, skysend');
  expect(() => readArguments(['crowd', ...peer], () => [])).toThrow('--beside is for all and split');
});
