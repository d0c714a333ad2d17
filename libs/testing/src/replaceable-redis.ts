import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { findRedis } from '@mayfly/local-stores/find-redis';
import { freePort } from '@mayfly/local-stores/ports';
import { untilTrue } from './wire.ts';

/** A Redis that comes back empty on the same port under the same password, as a replaced container does. */
export async function replaceableRedis() {
  const { path } = await findRedis();
  const port = await freePort();
  let child: ChildProcess | undefined;
  const start = async () => {
    child = spawn(path, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
      stdio: 'ignore',
    });
    await untilTrue(() => answersPing(port));
  };
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    /** It hangs: connections stay open and nothing is answered. */
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    kill,
    start,
    [Symbol.asyncDispose]: kill,
  };
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (data) => resolve(data.toString().startsWith('+PONG')));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('data', () => socket.destroy());
  });
}
