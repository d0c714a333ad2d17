import { MayflyError } from '@mayfly/client';
import { createKey } from '../create-key.ts';
import { NoRoom } from '../saving/no-room.ts';
import { trustedScriptUrl } from '../trusted-script-urls.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import type { TaskEvent } from './task.ts';
import type { Arguments, Result, TaskName } from './tasks.ts';
import workerUrl from './worker.ts?worker&url';
import { working } from './working.svelte.ts';

type Call = { finish: (message: FromWorker) => void; onEvent: ((event: TaskEvent) => void) | undefined };

const calls = new Map<number, Call>();
let lastId = 0;
let worker: Worker | undefined;

export type CallOptions = {
  signal?: AbortSignal | undefined;
  onEvent?: (event: TaskEvent) => void;
  /** Called with a function that makes a waiting task try its failed step again. */
  onStart?: (again: () => void) => void;
  transfer?: Transferable[];
};

/** Has the worker do something. Fails with a MayflyError, or an Error when it was nobody's intention. */
export function call<N extends TaskName>(name: N, args: Arguments<N>, options: CallOptions = {}): Promise<Result<N>> {
  const { signal, onEvent, onStart, transfer = [] } = options;
  const id = ++lastId;
  worker ??= startWorker();
  const say = (message: ToWorker, objects: Transferable[] = []) => worker?.postMessage(message, objects);
  const abort = () => say({ id, say: 'abort' });
  return new Promise((resolve, reject) => {
    const finish = (message: FromWorker) => {
      calls.delete(id);
      working.delete(id);
      signal?.removeEventListener('abort', abort);
      if ('result' in message)
        resolve(message.result as Result<N>); // the worker's, for this name
      else if ('error' in message) reject(new MayflyError(message.error.code, message.error));
      else if ('noRoom' in message) reject(new NoRoom());
      else if ('fault' in message) reject(new Error(message.fault));
    };
    calls.set(id, { finish, onEvent });
    say({ id, start: name, args, baseUrl: location.origin, createKey: createKey() }, transfer);
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    onStart?.(() => say({ id, say: 'again' }));
  });
}

function startWorker(): Worker {
  const started = new Worker(trustedScriptUrl(workerUrl), { type: 'module' });
  started.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    const found = calls.get(data.id);
    if (!('event' in data)) found?.finish(data);
    else if (data.event.kind !== 'working') found?.onEvent?.(data.event);
    else if (found && data.event.isWorking) working.add(data.id);
    else working.delete(data.id);
  };
  // It could not be loaded, or ended: nobody will answer the calls that wait.
  started.onerror = () => {
    worker = undefined;
    for (const [id, { finish }] of calls) finish({ id, fault: 'the worker ended' });
  };
  return started;
}
