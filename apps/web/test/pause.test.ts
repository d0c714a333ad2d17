import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FIRST_PAUSE_MS, nextPauseMs, pause } from '../src/receive/pause.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function fakePage() {
  return { window: new EventTarget(), document: Object.assign(new EventTarget(), { visibilityState: 'visible' }) };
}

test('pauses grow from 5 seconds to 30', () => {
  const pauses = [FIRST_PAUSE_MS];
  while (pauses.length < 7) pauses.push(nextPauseMs(pauses.at(-1) ?? 0));
  expect(pauses.map((ms) => Math.round(ms / 1000))).toEqual([5, 8, 11, 17, 25, 30, 30]);
});

test('a pause lasts as long as it is said to', async () => {
  const ended = vi.fn();
  void pause(5_000, fakePage()).then(ended);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toHaveBeenCalledWith(false);
});

test('it ends at once when the browser is online again, or the page is looked at again', async () => {
  const page = fakePage();
  const first = pause(5_000, page);
  page.window.dispatchEvent(new Event('online'));
  expect(await first).toBe(true);
  const second = pause(5_000, page);
  page.document.dispatchEvent(new Event('visibilitychange'));
  expect(await second).toBe(true);
});

test('it does not end when the page is hidden', async () => {
  const page = fakePage();
  const ended = vi.fn();
  void pause(5_000, page).then(ended);
  page.document.visibilityState = 'hidden';
  page.document.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(4_999);
  expect(ended).not.toHaveBeenCalled();
});
