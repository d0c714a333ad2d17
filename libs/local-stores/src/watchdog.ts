import { spawn } from 'node:child_process';

/** Reads until this process is gone, however it went, then stops the server and removes its folder. */
const SCRIPT = `
read -r _
kill -CONT "$1" 2>/dev/null
kill -INT "$1" 2>/dev/null
n=0
while kill -0 "$1" 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
kill -KILL "$1" 2>/dev/null
[ -z "$2" ] || rm -rf "$2"
`;

/**
 * A shell that outlives this process and stops a server that would be left behind by kill -9. It holds the end of a
 * pipe, so it needs no polling. The next start would find the server too, but there may be no next start.
 */
export function startWatchdog(pid: number, folderToRemove = ''): { dismiss(): void } {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', String(pid), folderToRemove], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  shell.on('error', () => {}); // Best effort: without a shell the next start cleans up.
  shell.stdin.on('error', () => {}); // the same
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref(); // a pipe is a net.Socket, which its type does not say
  return { dismiss: () => void shell.kill('SIGKILL') };
}
