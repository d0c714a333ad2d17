/** A signal that comes so soon after another is the same one: the terminal tells every process of its group, and npm and the like pass it on. */
const ECHO_MS = 1_000;

/** Aborts when the command is to stop. Whoever says so once more, later than that, does not want to wait for what is put in order then. */
export function untilStopped(exit: () => void, now = () => performance.now()): AbortSignal {
  const stopped = new AbortController();
  let firstAt: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      firstAt ??= now();
      if (now() - firstAt > ECHO_MS) exit();
      stopped.abort();
    });
  }
  return stopped.signal;
}
