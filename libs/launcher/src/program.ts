import { type ChildProcess, spawn } from 'node:child_process';

export type Program = AsyncDisposable & {
  /** The process that runs now, or ran last. */
  child: ChildProcess;
  /** Resolves when that process has ended, with a few words on how. */
  exited: Promise<string>;
  /** All that its processes have printed, if that is kept. */
  output(): string;
  /** The same again, in a new process. */
  restart(): void;
  /** Sends the signal, SIGKILL after `stopMs`, and resolves when the process has ended. Disposing sends SIGTERM. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
};

export type ProgramOptions = {
  /** Kept for `output`, shown where this process prints, or dropped; then only standard error is shown. */
  stdout?: 'pipe' | 'inherit' | 'ignore';
  stopMs?: number;
};

/** Starts a program with this environment and no other. A service ends by itself when the channel to this process closes. */
export function startProgram(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  { stdout = 'pipe', stopMs = 15_000 }: ProgramOptions = {},
): Program {
  let output = '';
  const launch = () => {
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', stdout, stdout === 'pipe' ? 'pipe' : 'inherit', 'ipc'],
      detached: true, // not in the terminal's group: this process says when to stop, once
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => {
        output += text;
      });
    }
    const exited = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code}`));
    });
    return { child, exited };
  };
  const program: Program = {
    ...launch(),
    output: () => output,
    restart: () => void Object.assign(program, launch()),
    async stop(signal = 'SIGTERM') {
      const { child, exited } = program;
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
      await exited;
      clearTimeout(timer);
    },
    [Symbol.asyncDispose]: () => program.stop(),
  };
  return program;
}
