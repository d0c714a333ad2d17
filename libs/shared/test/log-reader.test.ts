import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';

const LOGGER = JSON.stringify(new URL('../src/logger.ts', import.meta.url).href);
const START = `
  const { buildLogger } = await import(${LOGGER});
  const logger = buildLogger({ LOG_LEVEL: 'info' }, 'test');
  const lines = (count) => { for (let i = 0; i < count; i++) logger.info({ text: 'x'.repeat(1_000) }, 'line'); };
`;

/** A process that logs, and does what it is told on standard input: it is told by "now". */
function start(
  script: string,
  stdout: 'pipe' | number = 'pipe',
): ChildProcess & { stdout: NonNullable<ChildProcess['stdout']> } {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', START + script], {
    stdio: ['pipe', stdout, 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child as ReturnType<typeof start>;
}

const told = async (child: ChildProcess) => (await once(child, 'message'))[0];

test('the last lines of a process that exits are read', async () => {
  const child = start(`lines(200); logger.info('the end'); process.exit(3);`);
  const [text, [code]] = await Promise.all([child.stdout.toArray(), once(child, 'exit')]);
  expect(Buffer.concat(text).toString().trimEnd().split('\n').at(-1)).toContain('the end');
  expect(code).toBe(3);
});

test('a process whose reader is gone goes on, and ends', async () => {
  const child = start(`
    lines(1);
    process.on('message', () => { lines(100); process.send('here'); setImmediate(() => { lines(100); process.exit(0); }); });
    process.send('ready');
  `);
  await told(child);
  child.stdout.destroy();
  child.send('now');
  expect(await told(child)).toBe('here');
  expect(await Promise.race([once(child, 'exit'), sleep(10_000)])).toEqual([0, null]);
});

test('a process whose reader stands still goes on, with a bounded number of lines', async () => {
  const child = start(`
    lines(200_000);
    setTimeout(() => process.send(process.memoryUsage.rss()), 100);
  `);
  expect(await told(child)).toBeLessThan(200_000_000); // 200 MB of text
});

test.skipIf(process.platform !== 'linux')(
  'a process whose log is on a full disk goes on, and ends (needs /dev/full)',
  async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const child = start(
      `
    lines(100);
    setTimeout(() => { lines(100); process.send('here'); setTimeout(() => process.exit(0), 50); }, 50);
  `,
      full,
    );
    expect(await told(child)).toBe('here');
    expect(await Promise.race([once(child, 'exit'), sleep(10_000)])).toEqual([0, null]);
  },
);
