/** Ctrl-C in a terminal reaches this process by itself and through its parent: that is one request, not two. */
const SAME_REQUEST_MS = 1_000;
/** How often it is looked whether npm is still there: it may be killed in a way that it cannot pass on. */
const PARENT_CHECK_MS = 500;

export type StopRequest = {
  signal: AbortSignal;
  /** Resolves with the first request to stop. */
  requested: Promise<void>;
  /** Between two steps of a start: there is no point in the next one. */
  throwIfRequested(): void;
};

/**
 * Listens for the wish to stop: SIGINT, SIGTERM, SIGHUP, or the end of the process that started this one. A second
 * signal ends everything at once; the watchdogs of the stores then stop them.
 */
export function stopRequest(parent?: number): StopRequest {
  const controller = new AbortController();
  const requested = Promise.withResolvers<void>();
  let firstAt: number | undefined;
  const onRequest = () => {
    const now = performance.now();
    if (firstAt !== undefined && now - firstAt > SAME_REQUEST_MS) process.exit(130);
    firstAt ??= now;
    controller.abort();
    requested.resolve();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onRequest);
  if (parent) {
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      onRequest();
    }, PARENT_CHECK_MS).unref();
  }
  return {
    signal: controller.signal,
    requested: requested.promise,
    throwIfRequested: () => {
      if (controller.signal.aborted) throw new Error('stopped before the start was complete');
    },
  };
}
