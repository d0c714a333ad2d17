import { callJson } from './api.ts';
import { type Bytes, utf8 } from './bytes.ts';
import type { Clock } from './clock.ts';
import { asMayflyError, MayflyError } from './errors.ts';
import { limit, record, text, time } from './fields.ts';
import type { Transport } from './transport.ts';

/** What a solution is sent as, and until when. */
export type Place = { header: string; endsAtMs: number };

/** Contract: GET /api/work. */
export type Challenge = {
  challenge: string;
  memoryKiB: number;
  passes: number;
  tries: number;
  requests: number;
  endsAt: string;
};

/** More than any service of ours asks for: whoever does wants something else than to be left in peace. */
const MOST = { memoryKiB: 64 * 1024, passes: 4, tries: 1_000_000 };

const readChallenge = record<Challenge>(
  { challenge: text, memoryKiB: limit, passes: limit, tries: limit, requests: limit, endsAt: time },
  ({ challenge, memoryKiB, passes, tries }) =>
    /^[\w.-]{1,500}$/.test(challenge) && memoryKiB <= MOST.memoryKiB && passes <= MOST.passes && tries <= MOST.tries,
);

/** In how many milliseconds it may be tried without a place, and when there is no time left for either. */
export type Times = { waitMs: number; endMs: number };
type WorkFor = Times & { asking: Transport; clock: Clock; signal: AbortSignal | undefined };
type Outcome = Place | 'no work' | undefined;
type Job = { outcome: Promise<Outcome>; waiters: number; controller: AbortController };

/** For so long a service that offers none is not asked again. */
const NO_WORK_MS = 600_000;
const withoutWork = new Map<string, number>();
const jobs = new Map<string, Job>();

/**
 * A place for what is refused at the moment; undefined when `waitMs` is over, which is when it may be tried without one: where
 * the work would take longer, that is all that happens. All who want one at the same time get the same.
 */
export async function workFor(api: string, { signal, ...rest }: WorkFor): Promise<Outcome> {
  if (signal?.aborted) throw new MayflyError('aborted');
  if ((withoutWork.get(api) ?? 0) > rest.clock.now()) return 'no work';
  const job = jobs.get(api) ?? begin(api, rest);
  job.waiters += 1;
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(new MayflyError('aborted'));
    signal?.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([job.outcome, stopped]);
  } finally {
    signal?.removeEventListener('abort', stop);
    job.waiters -= 1;
    if (job.waiters === 0) job.controller.abort();
  }
}

function begin(api: string, options: Omit<WorkFor, 'signal'>): Job {
  const controller = new AbortController();
  const { signal } = controller;
  const outcome = askAndSolve(api, { ...options, signal }).finally(() => jobs.delete(api));
  outcome.catch(() => {}); // those who wait are told; there may be nobody left
  const job = { outcome, waiters: 0, controller };
  jobs.set(api, job);
  return job;
}

async function askAndSolve(api: string, { asking, waitMs, endMs, clock, signal }: WorkFor): Promise<Outcome> {
  const freeMs = clock.now() + waitMs;
  const until = Math.min(freeMs, endMs);
  try {
    const challenge = await callJson(asking, `${api}work`, { method: 'GET', read: readChallenge, signal });
    const header = await solve(challenge, { until, clock, signal });
    if (header !== undefined) return { header, endsAtMs: Date.parse(challenge.endsAt) };
  } catch (error) {
    const { code } = asMayflyError(error, signal);
    if (code === 'aborted') throw error;
    // It is sold out for the moment; every other answer says that there is none.
    if (code !== 'rate-limited') {
      withoutWork.set(api, clock.now() + NO_WORK_MS);
      return 'no work';
    }
  }
  if (freeMs > endMs) return 'no work';
  await clock.sleep(Math.max(until - clock.now(), 0), { signal });
  return undefined;
}

/** The first number that makes the hash small enough. Undefined as soon as it is clear that it takes longer than until then. */
export async function solve(
  { challenge, memoryKiB, passes, tries }: Challenge,
  { until, clock, signal }: { until: number; clock: Pick<Clock, 'now'>; signal?: AbortSignal | undefined },
): Promise<string | undefined> {
  const begun = clock.now();
  let firstMs: number | undefined;
  for (let number = 0; clock.now() < until; number += 1) {
    const header = `${challenge}.${number}`;
    if ((await hash(utf8(header), memoryKiB, passes)) * tries < 2 ** 32) return header;
    firstMs ??= clock.now() - begun;
    if (number === SAMPLE && ((clock.now() - begun - firstMs) / SAMPLE) * tries > until - begun) return undefined;
    await new Promise<void>((resolve) => setTimeout(resolve)); // whoever wants to stop it is heard
    if (signal?.aborted) throw new MayflyError('aborted');
  }
  return undefined;
}

/** Tries after the first one, which also prepares, that tell how long one takes. */
const SAMPLE = 3;
const SALT = utf8('mayfly:work:1');

/** The first 32 bits of what Argon2id makes of it. */
async function hash(password: Bytes, memorySize: number, iterations: number): Promise<number> {
  const { argon2id } = await import('hash-wasm');
  const options = { password, salt: SALT, memorySize, iterations, parallelism: 1, hashLength: 4 };
  const bytes = await argon2id({ ...options, outputType: 'binary' });
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
}
