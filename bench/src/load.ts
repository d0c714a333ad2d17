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
  const measured: Measured = {
    requests: timesMs.length,
    seconds: (performance.now() - start) / 1000,
    bytes,
    p50Ms: percentile(timesMs, 50),
    p99Ms: percentile(timesMs, 99),
  };
  return measured;
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

function assertSuccess({ status, text }: Answer) {
  if (status < 200 || status > 299) throw new Error(`the service answered ${status} ${text}`);
}

/** The value below which so many percent of the values lie (nearest rank). NaN without values. */
export function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil((sorted.length * percent) / 100) - 1, 0)] ?? Number.NaN;
}

export const median = (values: number[]): number => percentile(values, 50);
