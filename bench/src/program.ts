import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export type Program = AsyncDisposable & { pid: number; child: ChildProcess };

/** Starts a program that ends when it is disposed of. What it prints is kept for the message when it ends too early. */
export function startProgram(command: string, args: string[], env: NodeJS.ProcessEnv): Program {
  const child = spawn(command, args, {
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let printed = '';
  child.stderr?.on('data', (text: Buffer) => {
    printed = (printed + text).slice(-4_000);
  });
  let isWanted = true;
  const ended = once(child, 'exit');
  void ended.then(([code]) => {
    if (isWanted) console.error(`${command} ${args[0]} ended with ${code}: ${printed}`);
  });
  return {
    pid: child.pid ?? 0, // without a number there is an error event
    child,
    [Symbol.asyncDispose]: async () => {
      isWanted = false;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      if (child.exitCode === null && child.signalCode === null) await ended;
      clearTimeout(timer);
    },
  };
}
