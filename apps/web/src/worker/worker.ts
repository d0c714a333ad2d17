import { MayflyClient, MayflyError } from '@mayfly/client';
import { whenCreating } from '@mayfly/client/creating';
import { isNoRoom } from '../saving/no-room.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { retryingTransport } from './retrying-transport.ts';
import type { Task, TaskEvent } from './task.ts';
import { tasks } from './tasks.ts';

// The worker: keys, passwords, encryption and every request are here, so that the page never waits for them.

/** As much of a worker's global scope as is used: the rest of the app is checked with a page's types. */
type Scope = {
  onmessage: (event: { data: ToWorker }) => void;
  postMessage(message: FromWorker): void;
};

const scope = globalThis as unknown as Scope;
type Running = { controller: AbortController; again: () => void };
const running = new Map<number, Running>();

scope.onmessage = ({ data }) => {
  if ('start' in data) void run(data);
  else if (data.say === 'abort') running.get(data.id)?.controller.abort();
  else running.get(data.id)?.again();
};

async function run({ id, start, args, baseUrl, createKey }: Extract<ToWorker, { start: unknown }>) {
  const call: Running = { controller: new AbortController(), again: () => {} };
  running.set(id, call);
  const { signal } = call.controller;
  const report = (event: TaskEvent) => scope.postMessage({ id, event });
  const again = () =>
    new Promise<void>((resolve, reject) => {
      call.again = resolve;
      signal.addEventListener('abort', () => reject(new MayflyError('aborted')), { once: true });
    });
  const transport = whenCreating(retryingTransport({ report, again }), async () =>
    createKey === '' ? {} : { Authorization: `Bearer ${createKey}` },
  );
  const options = { baseUrl, transport };
  const client = new MayflyClient(options);
  try {
    const task = tasks[start] as (args: unknown, task: Task) => Promise<unknown>; // the page's types fit the name
    scope.postMessage({ id, result: await task(args, { client, options, signal, report, again }) });
  } catch (error) {
    scope.postMessage(describe(id, error));
  } finally {
    running.delete(id);
  }
}

function describe(id: number, error: unknown): FromWorker {
  if (isNoRoom(error)) return { id, noRoom: true };
  if (!(error instanceof MayflyError)) return { id, fault: String(error) };
  const { code, status, retryAfterSec, repeatForSec } = error;
  return { id, error: { code, status, retryAfterSec, repeatForSec } };
}
