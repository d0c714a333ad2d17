import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { guard } from '@mayfly/local-stores/guardian';
import { CannotStart } from '@mayfly/local-stores/problem';
import { identify, stopProcess } from '@mayfly/local-stores/process-identity';
import { ALLOCATION, NODE_ARGS } from '@mayfly/shared/run-options';
import { drainSettings } from '@mayfly/shared/settings';

export type RunningApp = AsyncDisposable & {
  pid: number;
  exited: Promise<string>;
  /** Resolves when the service says that it is well. Throws CannotStart when it never does. */
  healthy(address: string): Promise<void>;
};

const HEALTHY_WITHIN_MS = 60_000;
/** Longer than the service lets running transfers take. */
const drainMs = ({ DRAIN_MS, DRAIN_GRACE_MS }: NodeJS.ProcessEnv) =>
  (Number(DRAIN_MS) || 0) + Number(DRAIN_GRACE_MS || drainSettings.DRAIN_GRACE_MS.fallback) + 5_000;

/** Starts the service as a process of its own. It stops by itself when its IPC channel closes. */
export function startApp(entry: string, env: NodeJS.ProcessEnv): RunningApp {
  const child = spawn(process.execPath, [...NODE_ARGS, entry], {
    env: { ...ALLOCATION, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true, // not in the terminal's group: this process says when to stop, once
  });
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code}`));
  });
  const pid = child.pid ?? 0; // without a number there is an error event, and `exited` tells
  const guardian = guard(pid);
  const identity = identify(pid);
  return {
    pid,
    exited,
    healthy,
    [Symbol.asyncDispose]: async () => {
      if (identity)
        await stopProcess(identity, [
          ['SIGTERM', drainMs(env)],
          ['SIGKILL', 5_000],
        ]);
      guardian.dismiss();
    },
  };
}

async function healthy(address: string) {
  let last = 'no answer';
  for (const end = Date.now() + HEALTHY_WITHIN_MS; Date.now() < end; await sleep(100)) {
    try {
      const answer = await fetch(`${address}/api/health`, { signal: AbortSignal.timeout(5_000) });
      last = `${answer.status} ${await answer.text()}`;
      if (answer.ok) return;
    } catch {
      // not listening yet
    }
  }
  throw new CannotStart(
    `Mayfly is not well after ${HEALTHY_WITHIN_MS / 1000} s: GET ${address}/api/health says ${last}`,
  );
}
