import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { unusedPort } from '@mayfly/local-stores/ports';
import { freshFolder } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { afterEach, describe, expect, test } from 'vitest';

// npm start as a person types it: what it says, who can reach it, what it takes, and that nothing of it stays behind.

const root = fileURLToPath(new URL('../..', import.meta.url));
const READY_MS = 60_000;

let folder: Awaited<ReturnType<typeof freshFolder>> | undefined;
let npm: ChildProcess | undefined;
afterEach(async () => {
  if (npm?.pid && npm.exitCode === null && npm.signalCode === null) npm.kill('SIGKILL');
  await untilTrue(() => runningBelow(folder?.path ?? '').length === 0, 30_000);
  await folder?.[Symbol.asyncDispose]();
});

async function start(settings: Record<string, string> = {}) {
  folder = await freshFolder();
  const port = await unusedPort();
  npm = spawn('npm', ['start'], {
    cwd: root,
    detached: true, // a group of its own, as in a terminal
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      MAYFLY_DATA_DIR: folder.path,
      WEB_DIR: process.env.TEST_WEB_DIR,
      PORT: String(port),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream?.on('data', (text: Buffer) => {
      output += text;
    });
  }
  await untilTrue(() => output.includes('Mayfly is ready') || npm?.exitCode !== null, READY_MS);
  const pid = npm.pid ?? 0; // it has printed
  return { pid, port, output: () => output, exited: once(npm, 'exit') };
}

type Seen = { pid: number; parent: number; command: string; rssMiB: number };

/** Every process that the system shows. */
function processes(): Seen[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8');
        const field = (of: string) => Number(new RegExp(`^${of}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return [{ pid: Number(name), parent: field('PPid'), command, rssMiB: field('VmRSS') / 1024 }];
      } catch {
        return []; // it has just ended
      }
    });
}

/** What works on the folder: stores by their arguments, the service by its environment. */
function runningBelow(path: string): Seen[] {
  return processes().filter(({ pid, command }) => {
    if (path === '' || pid === process.pid) return false;
    try {
      return command.includes(path) || readFileSync(`/proc/${pid}/environ`, 'utf8').includes(path);
    } catch {
      return false; // it has just ended
    }
  });
}

const supervisorOf = (npmPid: number) => {
  const found = processes().find(({ parent, command }) => parent === npmPid && command.includes('start.ts'));
  if (!found) throw new Error('npm has no supervisor');
  return found;
};

function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 });
    const end = (isOpen: boolean) => () => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}

const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

describe.skipIf(process.platform !== 'linux')('npm start (its processes are looked at in /proc: Linux only)', () => {
  test('this machine only, supervisors that take little, and SIGTERM to npm ends everything', async () => {
    const { pid, port, output, exited } = await start();
    expect(output()).toMatch(/Only this machine can reach it \(HOST is 127\.0\.0\.1\)/);
    expect(await canConnect('127.0.0.1', port)).toBe(true);
    if (ownAddress) expect(await canConnect(ownAddress, port)).toBe(false);
    else console.log('no address but loopback: not tried from outside');

    const own = runningBelow(folder?.path ?? '').filter(({ command }) => /scripts\/|watchdog/.test(command));
    const rssMiB = own.reduce((sum, seen) => sum + seen.rssMiB, 0);
    console.log(`supervisors: ${rssMiB.toFixed(0)} MiB resident in ${own.length} processes`);
    expect(own.filter(({ command }) => command.includes('scripts/'))).toHaveLength(1);
    expect(rssMiB).toBeLessThan(75);

    process.kill(pid, 'SIGTERM');
    const [code, signal] = await exited;
    expect(code ?? signal).toBeOneOf([0, 143, 'SIGTERM']); // by the version of npm
    await untilTrue(() => output().includes('Stopped.')); // it may still be on its way through the pipe
    await untilTrue(() => runningBelow(folder?.path ?? '').length === 0, 15_000);
  });

  test('for other machines when HOST says so, plainly; and npm that is killed leaves nothing', async () => {
    const { pid, port, output } = await start({ HOST: '0.0.0.0' });
    expect(output()).toMatch(/Other machines can reach it: it listens on every address of this machine/);
    if (ownAddress) expect(await canConnect(ownAddress, port)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await untilTrue(() => runningBelow(folder?.path ?? '').length === 0, 30_000);
    await untilTrue(() => output().includes('Stopped.')); // it may still be on its way through the pipe
  });

  test('a supervisor that is killed leaves nothing', async () => {
    const { pid } = await start();
    process.kill(supervisorOf(pid).pid, 'SIGKILL');
    await untilTrue(() => runningBelow(folder?.path ?? '').length === 0, 30_000);
  });

  test('Ctrl-C reaches the whole group and is one request; a port that is taken is one sentence and code 1', async () => {
    const { pid, port, output, exited } = await start();
    const second = spawn('npm', ['start'], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        MAYFLY_DATA_DIR: `${folder?.path}/second`,
        PORT: String(port),
      },
      stdio: 'ignore',
    });
    expect(await once(second, 'exit')).toEqual([1, null]);
    process.kill(-pid, 'SIGINT');
    await exited;
    await untilTrue(() => runningBelow(folder?.path ?? '').length === 0, 15_000);
    await untilTrue(() => output().includes('Stopped.')); // it may still be on its way through the pipe
  });
});
