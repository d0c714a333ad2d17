import { expect, test } from 'vitest';
import { Pace } from '../src/format/pace.ts';

const MB = 1_000_000;

test('says nothing before it can know', () => {
  const pace = new Pace();
  expect(pace.next(0, 100 * MB, 0)).toBeUndefined();
  expect(pace.next(MB, 100 * MB, 1_000)).toBeUndefined();
});

test('a steady speed gives the time that is left', () => {
  const pace = new Pace();
  for (let second = 0; second < 2; second += 1) pace.next(second * MB, 100 * MB, second * 1_000);
  expect(pace.next(2 * MB, 100 * MB, 2_000)).toEqual({ bytesPerSec: MB, secondsLeft: 98 });
});

test('a connection that has become slow does not look fast for long', () => {
  const pace = new Pace();
  for (let second = 0; second <= 10; second += 1) pace.next(second * 10 * MB, 1_000 * MB, second * 1_000);
  let last: ReturnType<Pace['next']>;
  for (let second = 11; second <= 17; second += 1)
    last = pace.next(100 * MB + (second - 10) * MB, 1_000 * MB, second * 1_000);
  expect(last?.bytesPerSec).toBe(MB);
});

test('a step that begins again begins its pace again', () => {
  const pace = new Pace();
  for (let second = 0; second <= 5; second += 1) pace.next(second * MB, 10 * MB, second * 1_000);
  expect(pace.next(0, 10 * MB, 6_000)).toBeUndefined();
});

test('what is told now and then counts for longer', () => {
  const pace = new Pace(60_000);
  pace.next(0, 1000, 0);
  expect(pace.next(100, 1000, 10_000)).toEqual({ bytesPerSec: 10, secondsLeft: 90 });
  // Nothing new for a while: slower, and not unknown.
  expect(pace.next(100, 1000, 20_000)).toEqual({ bytesPerSec: 5, secondsLeft: 180 });
});
