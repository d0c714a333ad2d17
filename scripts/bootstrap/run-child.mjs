import { spawn } from 'node:child_process';
import { say } from './progress.mjs';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The child of the moment: there is never more than one. */
let child;
let isStopping = false;
/** How a signal reaches the child of the moment. */
let pass = () => {};

for (const signal of SIGNALS) {
  process.on(signal, () => {
    isStopping = true;
    pass(signal);
  });
}

/** npm may be killed in a way that it cannot pass on. Its child then has another parent, which is the sign to stop. */
export function stopWithParent() {
  // Only npm is known to stay; a shell may end on purpose and leave its command running.
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const npm = Number(process.env.MAYFLY_PARENT);
  const timer = setInterval(() => {
    if (process.ppid === parent && (!npm || isAlive(npm))) return;
    clearInterval(timer);
    isStopping = true;
    pass('SIGTERM');
  }, 500);
  timer.unref();
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // nobody has this number
  }
}

/** Somebody wants to stop what is being prepared. */
export function wasStopped() {
  return isStopping;
}

/** Runs the command itself. It hears of this process's end, however sudden, through its IPC channel. */
export function runToEnd(program, args, options) {
  return new Promise((resolve, reject) => {
    if (isStopping) return resolve({ code: 130 });
    child = spawn(program, args, { ...options, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
    // In a terminal Ctrl-C reaches the whole group, the child too; it takes two signals close together for one.
    pass = (signal) => child.kill(signal);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const name of SIGNALS) process.removeAllListeners(name);
      resolve({ code, signal });
    });
  });
}

/** Runs a tool in silence. Resolves with its exit code and what it printed. A signal ends it and this process. */
export function runTool(program, args, options) {
  return new Promise((resolve, reject) => {
    if (isStopping) process.exit(130);
    // A group of its own, so that a signal ends what the tool has started as well.
    child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    pass = () => {
      try {
        process.kill(-child.pid, 'SIGTERM');
      } catch {
        // it has just ended
      }
    };
    child.once('error', reject);
    child.once('close', (code) => {
      pass = () => {};
      if (isStopping) {
        say('stopped');
        process.exit(130);
      }
      resolve({ code, stdout, stderr });
    });
  });
}
