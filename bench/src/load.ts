import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Answer, Connection, type Request } from './connection.ts';

export type Load = {
  url: string;
  connections: number;
  /** Stops after this time, or after so many requests when that comes first. */
  seconds: number;
  maxRequests?: number | undefined;
  request: (index: number) => Request;
};

export type Measured = {
  requests: number;
  seconds: number;
  /** Body bytes of both directions. */
  bytes: number;
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
};

/** As many requests as the service takes, each connection one at a time. Throws at the first answer that is not 2xx. */
export async function runLoad({ url, connections, seconds, maxRequests = Number.POSITIVE_INFINITY, request }: Load) {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(url)));
  const timesMs: number[] = [];
  let [started, bytes] = [0, 0];
  const start = performance.now();
  const end = start + seconds * 1000;
  const work = async (connection: Connection) => {
    while (started < maxRequests && performance.now() < end) {
      const next = request(started++);
      const sent = performance.now();
      const answer = await connection.exchange(next);
      timesMs.push(performance.now() - sent);
      assertSuccess(answer);
      bytes += answer.bodyBytes + (next.body?.sizeBytes ?? 0);
    }
  };
  try {
    await Promise.all(open.map(work));
  } finally {
    for (const connection of open) connection.close();
  }
  return summary(timesMs, start, bytes);
}

export type OpenLoad = Omit<Load, 'maxRequests'> & { perSec: number };

/** With what the generator itself did wrong, which no service answers for: both at the 99th percentile. */
export type MeasuredOpen = Measured & {
  /** From when a request was due until this process saw that it was. */
  lateP99Ms: number;
  /** What a timer of this process waited beyond its time. */
  delayP99Ms: number;
};

/**
 * So many requests a second whatever the service does, on the connections that are free. A time begins when its request was due:
 * one that has waited for a connection, or for this process, has waited for its answer. Throws as runLoad does.
 */
export async function runOpenLoop({ url, connections, seconds, perSec, request }: OpenLoad): Promise<MeasuredOpen> {
  const free = await Promise.all(Array.from({ length: connections }, () => Connection.open(url)));
  const open = [...free];
  const timesMs: number[] = [];
  const lateMs: number[] = [];
  const count = Math.max(Math.floor(perSec * seconds), 1);
  let [due, next, bytes] = [0, 0, 0];
  const finished = Promise.withResolvers<void>();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();
  const sinceDue = (index: number) => performance.now() - start - (index * 1000) / perSec;
  const work = async (connection: Connection) => {
    while (next < due) {
      const index = next++;
      const answer = await connection.exchange(request(index));
      timesMs.push(sinceDue(index));
      assertSuccess(answer);
      bytes += answer.bodyBytes;
    }
    if (timesMs.length === count) finished.resolve();
    free.push(connection);
  };
  const timer = setInterval(() => {
    const dueNow = Math.min(Math.floor(((performance.now() - start) / 1000) * perSec) + 1, count);
    for (; due < dueNow; due += 1) lateMs.push(sinceDue(due));
    for (let waiting = due - next; waiting > 0 && free.length > 0; waiting -= 1) {
      work(free.pop() as Connection).catch(finished.reject); // there is one
    }
  }, 1);
  try {
    await finished.promise;
  } finally {
    clearInterval(timer);
    delay.disable();
    for (const connection of open) connection.close();
  }
  const delayP99Ms = Math.max(delay.percentile(99) / 1e6 - 1, 0); // what it was asked to wait is in it
  return { ...summary(timesMs, start, bytes), lateP99Ms: percentile(lateMs, 99), delayP99Ms };
}

function summary(timesMs: number[], start: number, bytes: number): Measured {
  return {
    requests: timesMs.length,
    seconds: (performance.now() - start) / 1000,
    bytes,
    p50Ms: percentile(timesMs, 50),
    p99Ms: percentile(timesMs, 99),
    p999Ms: percentile(timesMs, 99.9),
  };
}

/** Sends each request once and returns the answers in their order. */
export async function sendAll(url: string, requests: Request[], connections = 16): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const work = async () => {
    const connection = await Connection.open(url);
    for (let index = next++; index < requests.length; index = next++) {
      answers[index] = await connection.exchange(requests[index] as Request); // the index is below the length
      assertSuccess(answers[index] as Answer);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: Math.min(connections, requests.length) }, work));
  return answers;
}

export function assertSuccess({ status, text }: Answer) {
  if (status < 200 || status > 299) throw new Error(`the service answered ${status} ${text}`);
}

/** The value below which so many percent of the values lie (nearest rank). NaN without values. */
export function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil((sorted.length * percent) / 100) - 1, 0)] ?? Number.NaN;
}

export const median = (values: number[]): number => percentile(values, 50);
