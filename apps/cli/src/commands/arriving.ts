import { type Arrival, type Link, type MayflyClient, MayflyError } from '@mayfly/client';
import { formatShare } from '../amounts.ts';
import type { Context } from '../context.ts';
import { showProgress } from '../progress.ts';

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 30_000;
/** Each wait is so many times the last one, and up to a tenth longer or shorter: decision early-links. */
const GROWTH = 1.25;
/** What an upload that goes on without this command survives. */
const PASSING = ['network', 'unavailable', 'rate-limited'];

/**
 * What the service tells about an upload. One that was announced and is not complete is waited for, or told to be on its way:
 * `not-finished`; `upload-ended` when it will never be complete.
 */
export async function findUpload(context: Context, client: MayflyClient, link: Link, { wait }: { wait?: boolean }) {
  const { signal } = context;
  try {
    return await client.getInfo(link, { signal });
  } catch (error) {
    if (!isMissing(error)) throw error;
    const arrival = await client.getArrival(link, { signal });
    // Perhaps it was completed in between.
    if (!arrival) return client.getInfo(link, { signal });
    if (wait) return waitFor(context, client, link, arrival);
    const message = `${describe(arrival)}; mayfly get --wait waits for it`;
    throw new MayflyError('not-finished', { message });
  }
}

async function waitFor({ terminal, signal, sleep }: Context, client: MayflyClient, link: Link, first: Arrival) {
  // Parts are stored whole, now several and now none: only the speed of the whole wait says something.
  using progress = showProgress(terminal.stderr, 'Being sent', undefined, Number.POSITIVE_INFINITY);
  if (!terminal.stderr.isTTY) terminal.say(`${describe(first)}; waiting for it`);
  let { endsAt } = first;
  let isTroubled = false;
  const show = ({ storedBytes, totalBytes }: Arrival) =>
    progress.onProgress(storedBytes, totalBytes ?? Number.POSITIVE_INFINITY);
  show(first);
  for (let waitMs = FIRST_WAIT_MS, leastMs = 0; ; waitMs = Math.min(waitMs * GROWTH, LONGEST_WAIT_MS)) {
    await sleep(Math.max(waitMs * (0.9 + Math.random() / 5), leastMs));
    try {
      const arrival = await client.getArrival(link, { signal });
      if (!arrival) return await client.getInfo(link, { signal });
      show(arrival);
      ({ endsAt } = arrival);
      [leastMs, isTroubled] = [0, false];
    } catch (error) {
      if (isMissing(error)) {
        const message = 'Its upload ended before it was complete: the sender stopped it, or its time was over';
        throw new MayflyError('upload-ended', { message, cause: error });
      }
      const mayPass = error instanceof MayflyError && PASSING.includes(error.code);
      if (!mayPass || Date.now() > Date.parse(endsAt)) throw error;
      if (!isTroubled) {
        progress.wipe();
        terminal.say(`${error.message}; trying again`);
      }
      [leastMs, isTroubled] = [(error.retryAfterSec ?? 0) * 1000, true];
    }
  }
}

const isMissing = (error: unknown) => error instanceof MayflyError && error.code === 'not-found';

function describe({ storedBytes, totalBytes }: Arrival): string {
  return `It is still being sent${totalBytes === undefined ? '' : ` (${formatShare(storedBytes, totalBytes)})`}`;
}
