import { spawn } from 'node:child_process';
import { CannotStart } from './problem.ts';
import { identify, stopProcess } from './process-identity.ts';

export type Account = { uid: number; gid: number };

export type ServerProcess = {
  pid: number;
  /** Resolves when the process has ended, with a few words on how. */
  exited: Promise<string>;
  stop(steps: [signal: NodeJS.Signals, waitMs: number][]): Promise<void>;
};

type ServerOptions = {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  /** Runs as somebody else; only root can. */
  account?: Account | undefined;
  /** Written to standard input: what must not show in a list of processes. */
  input?: string;
  onLog?: ((line: string) => void) | undefined;
  /** The line of its log that says that it takes connections. */
  ready?: RegExp;
};

/** Both PostgreSQL and Redis say so in their log. */
const READY_LINE = /ready to accept connections/i;
const READY_TIMEOUT_MS = 60_000;
const LINES_KEPT = 8;

/** Starts a server and waits until it takes connections. Throws CannotStart with the last lines of its log. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const { name, command, args, env, account, input = '', onLog, ready: readyLine = READY_LINE } = options;
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C in a terminal goes to whole groups, and the stores must outlive the service's draining.
    detached: true,
    cwd: '/',
    env,
    ...account,
  });
  const lastLines: string[] = [];
  const ready = Promise.withResolvers<void>();
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code}`));
  });
  onLines([child.stdout, child.stderr], (line) => {
    lastLines.splice(0, lastLines.length + 1 - LINES_KEPT);
    lastLines.push(line);
    onLog?.(line);
    if (readyLine.test(line)) ready.resolve();
  });
  child.stdin.on('error', () => {}); // it ended before it read; `exited` tells why
  child.stdin.end(input);

  const timeout = Promise.withResolvers<string>();
  const timer = setTimeout(() => timeout.resolve(`is not ready after ${READY_TIMEOUT_MS / 1000} s`), READY_TIMEOUT_MS);
  const problem = await Promise.race([ready.promise, exited, timeout.promise]);
  clearTimeout(timer);
  if (problem !== undefined) {
    child.kill('SIGKILL');
    throw new CannotStart(`${name} could not be started: it ${problem}. ${lastLines.join(' | ')}`);
  }

  const pid = child.pid ?? 0; // a process that logged has a number
  const identity = identify(pid);
  const server: ServerProcess = {
    pid,
    exited,
    stop: async (steps) => {
      if (!identity) return;
      await stopProcess(identity, steps);
      await exited;
    },
  };
  return server;
}

function onLines(streams: NodeJS.ReadableStream[], onLine: (line: string) => void) {
  for (const stream of streams) {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.trim()) onLine(line.trim());
    });
  }
}
