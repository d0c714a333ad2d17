import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Whether a terminal can be made here: with `script` of util-linux. */
export const HAS_TERMINAL = (() => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
})();

/** A command in a terminal of its own, with somebody who presses keys. Resolves with its exit code and what changed of the terminal's settings. */
export function inTerminal(command: string[], { cwd, env }: { cwd: string; env: Record<string, string> }) {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  // Ctrl-C reaches the shell as well, which has to live to tell the code.
  const begin = `(trap - INT; echo begun; exec ${quoted})`;
  const script = `trap : INT; before=$(stty -g); ${begin}; code=$?; echo "code=$code"; [ "$before" = "$(stty -g)" ] && echo restored`;
  const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn('script', ['--quiet', '--flush', '--command', script, '/dev/null'], {
    cwd,
    env: { PATH, HOME: cwd, TMPDIR, NODE_COMPILE_CACHE, SHELL: '/bin/sh', TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  const begun = Promise.withResolvers<void>();
  child.stdout.on('data', (text: Buffer) => {
    output += text;
    if (output.includes('begun')) begun.resolve();
  });
  return {
    /** The command is there to hear what is pressed; before, the shell around it would. */
    begun: begun.promise,
    press: (keys: string) => child.stdin.write(keys),
    output: () => output,
    ended: once(child, 'close').then(() => ({
      code: Number(/code=(\d+)/.exec(output)?.[1]),
      isRestored: output.includes('restored'),
      output,
    })),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

export const CTRL_C = '\u0003';
