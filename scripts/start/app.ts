import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { CannotStart } from '@mayfly/local-stores/problem';
import { identify, stopProcess } from '@mayfly/local-stores/process-identity';
import { startWatchdog } from '@mayfly/local-stores/watchdog';
import { ALLOCATION, NODE_ARGS } from '@mayfly/shared/run-options';
import { drainSettings } from '@mayfly/shared/settings';

export type RunningApp = AsyncDisposable & {
  pid: number;
  exited: Promise<string>;
  /**
   * Resolves when the service says that it is well, or when it serves and says for a while what of it is not: with a full disk it
   * has to run, too. Resolves with those parts; throws CannotStart when it does not answer.
   */
  healthy(address: string): Promise<string[]>;
};

const HEALTHY_WITHIN_MS = 60_000;
const UNWELL_FOR_MS = 5_000;
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
  const watchdog = startWatchdog(pid);
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
      watchdog.dismiss();
    },
  };
}

async function healthy(address: string): Promise<string[]> {
  let last = 'no answer';
  let unwellSince: number | undefined;
  for (const end = Date.now() + HEALTHY_WITHIN_MS; Date.now() < end; await sleep(100)) {
    try {
      const { status, body } = await ask(address, '/api/health');
      last = `${status} ${body}`;
      if (status === 200) return [];
      unwellSince ??= Date.now();
      if (Date.now() - unwellSince > UNWELL_FOR_MS) return partsThatAreDown(body);
    } catch {
      // not listening yet
    }
  }
  throw new CannotStart(
    `Mayfly is not well after ${HEALTHY_WITHIN_MS / 1000} s: GET ${address}/api/health says ${last}`,
  );
}

function partsThatAreDown(health: string): string[] {
  const { components } = JSON.parse(health) as { components: Record<string, 'ok' | 'down'> };
  return Object.keys(components).filter((name) => components[name] === 'down');
}

/** Without Node's HTTP client, which would be loaded for this alone and stay in memory (14 MB). */
async function ask(address: string, path: string): Promise<{ status: number; body: string }> {
  const { hostname, port, host } = new URL(address);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), timeout: 5_000 });
  socket.once('timeout', () => socket.destroy(new Error('no answer in time')));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body };
}
