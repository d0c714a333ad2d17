import { IDBFactory } from 'fake-indexeddb';
import { describe, expect, test } from 'vitest';
import {
  allKept,
  continueSec,
  endsAtMs,
  forgetDownload,
  type KeptDownload,
  keepDownload,
} from '../src/saving/kept-downloads.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-01-31T12:00:00.000Z');
const at = (ms: number) => new Date(ms).toISOString();

const kept = (facts: Partial<KeptDownload> = {}): KeptDownload => ({
  key: 'a key',
  id: 'an id',
  lease: 'a lease',
  expiresAt: at(NOW + 48 * HOUR_MS),
  idleSec: 3600,
  hasBegun: true,
  storedBytes: 0,
  begunAtMs: NOW - HOUR_MS,
  activeAtMs: NOW,
  ...facts,
});

describe('a download can be continued until', () => {
  test.each([
    ['so long after its last byte', {}, HOUR_MS],
    ['a day after it began, whatever came since', { begunAtMs: NOW - 23.5 * HOUR_MS }, 0.5 * HOUR_MS],
    ['so long after its upload has expired', { expiresAt: at(NOW - 0.75 * HOUR_MS) }, 0.25 * HOUR_MS],
  ])('%s', (_, facts, ms) => {
    expect(endsAtMs(kept(facts))).toBe(NOW + ms);
  });
});

test('how long it could be continued is what the service says, or whole minutes below that', () => {
  expect(continueSec(kept({ activeAtMs: NOW - HOUR_MS }), NOW)).toBe(3600);
  expect(continueSec(kept({ expiresAt: at(NOW - 0.75 * HOUR_MS - 10_000) }), NOW)).toBe(14 * 60);
});

test('what is kept is there for the next page until it is forgotten', async () => {
  const databases = new IDBFactory();
  const [one, other] = [kept(), kept({ key: 'another key' })];
  for (const item of [one, other]) expect(await keepDownload(item, databases)).toBe(true);
  await keepDownload({ ...one, storedBytes: 5 }, databases);
  expect(await allKept(databases)).toEqual([{ ...one, storedBytes: 5 }, other]);
  await forgetDownload(one.key, databases);
  expect(await allKept(databases)).toEqual([other]);
});

test('without storage nothing is kept, and nothing fails', async () => {
  const fails = () => {
    throw new DOMException('not here', 'SecurityError');
  };
  const databases = Object.assign(new IDBFactory(), { open: fails });
  expect(await keepDownload(kept(), databases)).toBe(false);
  expect(await allKept(databases)).toBeUndefined();
  await forgetDownload('a key', databases);
});
