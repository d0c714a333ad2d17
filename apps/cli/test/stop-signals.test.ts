import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { expect, test } from 'vitest';

const MODULE = new URL('../src/stop-signals.ts', import.meta.url).href;
/** Its clock is told the time, and it tells what it hears. */
const PROGRAM = `
  import { untilStopped } from '${MODULE}';
  let now = 0;
  const signal = untilStopped(() => process.exit(130), () => now);
  signal.addEventListener('abort', () => process.send('stopped'));
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => process.send(name));
  process.on('message', (ms) => process.send(now = ms));
  process.send('ready');
`;

test('a signal within a second of the first is the same one, from whomever it comes; a later one ends the command', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const heard = on(child, 'message', { close: ['exit'] });
  const next = async () => (await heard.next()).value?.[0];
  expect(await next()).toBe('ready');
  child.kill('SIGINT');
  expect([await next(), await next()]).toEqual(['stopped', 'SIGINT']);
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    child.kill(name);
    expect(await next()).toBe(name);
  }
  child.send(1000);
  expect(await next()).toBe(1000);
  child.kill('SIGINT');
  expect(await next()).toBe('SIGINT');
  child.send(1001);
  expect(await next()).toBe(1001);
  child.kill('SIGTERM');
  expect(await ended).toEqual([130, null]);
});
