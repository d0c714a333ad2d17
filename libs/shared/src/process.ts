import { setFlagsFromString } from 'node:v8';
import { ConfigError } from './config.ts';
import { masked } from './error-for-log.ts';
import { Unavailable } from './errors.ts';
import { garbageCollector } from './read-buffers.ts';

/** Resolves with what asked this process to stop: a signal, or the end of the parent that opened an IPC channel. */
export type UntilStopped = () => Promise<string>;

/**
 * How far the heap may grow beyond what is in use before it is collected. V8 lets it become four times as large.
 * Decision process-memory.
 */
const HEAP_GROWTH_PERCENT = 50;

/**
 * Runs a process to its end. `main` starts everything, awaits `untilStopped` and closes. A stop during the start ends the
 * process at once; what prevents a start is one sentence on standard error and exit code 1.
 */
export async function runProcess(main: (untilStopped: UntilStopped) => Promise<void>): Promise<never> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // What is young is collected by this thread alone: it would wait for others that have no processor. Decision process-memory.
  setFlagsFromString('--no-parallel-scavenge');
  const stopped = Promise.withResolvers<string>();
  let isStarted = false;
  const stop = (reason: string) => {
    if (isStarted) stopped.resolve(reason);
    else process.exit(0); // nothing has been served yet
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop(signal));
  if (process.channel) process.once('disconnect', () => stop('parent gone'));

  process.once('uncaughtException', (error) => {
    console.error(masked(startProblem(error))); // as Node does, but for the ids that its errors may hold
    process.exit(1);
  });

  try {
    await main(() => {
      isStarted = true;
      giveBackTheStart();
      return stopped.promise;
    });
    process.exit(0);
  } catch (error) {
    console.error(masked(startProblem(error)));
    process.exit(1);
  }
}

/**
 * Loading the program leaves 25 MB behind that V8 would keep: they go back to the system, once. Decision
 * process-memory.
 */
function giveBackTheStart() {
  garbageCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

function startProblem(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  if (error instanceof Unavailable)
    return `${error.message}: ${(error.cause as Error | undefined)?.message ?? 'no answer'}`;
  if (!(error instanceof Error)) return String(error);
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code === 'EADDRINUSE') return `Port ${port} is already in use. Choose another one with PORT.`;
  if (code === 'EADDRNOTAVAIL') return `This machine has no address ${address}. Choose another one with HOST.`;
  return error.stack ?? error.message;
}
