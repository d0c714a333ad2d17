import { setTimeout as sleep } from 'node:timers/promises';
import { diskBlobs } from '@mayfly/testing/blobs';
import { inSuite } from '@mayfly/testing/in-suite';
import { startReady } from '@mayfly/testing/shapes';
import { noShiftedClock, shiftedClock } from '@mayfly/testing/shifted-clock';
import { freshDatabase, freshFolder, freshRedis } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';

type Janitor = Awaited<ReturnType<typeof startReady>>;
const YEAR_SEC = 365 * 86_400;

describe.skipIf(noShiftedClock)('after a janitor’s clock was a year ahead', () => {
  const database = inSuite(() => freshDatabase({ hasTables: true }));
  const redis = inSuite(() => freshRedis());
  const blobs = inSuite(() => diskBlobs());
  const clocks = inSuite(() => freshFolder());
  const stack = inSuite(async () => new AsyncDisposableStack());
  const janitor = (settings: Record<string, string> = {}) =>
    startReady(stack(), 'janitor', {
      DATABASE_URL: database().url,
      REDIS_URL: redis().url,
      RECONCILE_INTERVAL_SEC: '2',
      ...blobs().settings,
      ...settings,
    });
  const logged = ({ output }: Janitor, pattern: RegExp) => output().match(pattern)?.length ?? 0;
  const compared = (by: Janitor) => logged(by, /"reconciled"/g);
  const moved = (by: Janitor) => logged(by, /"job":"reconcile",.*planned further ahead/g);

  test('its schedule goes on once the clock is right again, by the same process and by one that takes over', {
    timeout: 180_000,
  }, async () => {
    const clock = shiftedClock(clocks().path, 'janitor');
    const first = await janitor(clock.settings);
    await untilTrue(() => compared(first) > 1, 30_000);

    const planAhead = async () => {
      clock.shift(YEAR_SEC);
      const before = compared(first);
      await untilTrue(() => compared(first) > before + 1, 30_000);
    };
    await planAhead();
    clock.shift(0);
    await sleep(3_000); // it hears of it
    const before = compared(first);
    await untilTrue(() => compared(first) > before + 1, 90_000); // it looks every minute
    expect(moved(first)).toBe(1);

    await planAhead();
    await first.stop('SIGKILL');
    clock.forget(first.child.pid);
    const second = await janitor();
    await untilTrue(() => compared(second) > 1, 20_000);
    expect(moved(second)).toBe(1);
  });
});
