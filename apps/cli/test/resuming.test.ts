import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { CONTENT, shareDesk } from './person.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

const desk = await shareDesk();
const { file } = desk;

/** The command line as a process of its own, with the same data folder. */
function start(...args: string[]) {
  const { folder, baseUrl } = desk;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder, XDG_DATA_HOME: folder, MAYFLY_SERVER: baseUrl };
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: folder, env, detached: true });
  const result = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { child, result: result.then(([out, err, [code]]) => ({ out, err, code })) };
}

/** Sends until some parts are stored, then is given a signal. */
async function interrupted(signal: NodeJS.Signals, ...args: string[]) {
  const { service } = desk;
  let stored = 0;
  const before = service.sessions.size;
  // What comes later is not answered in a hurry.
  service.fault = ({ path }) => {
    stored = [...service.sessions.values()][before]?.parts.size ?? 0;
    return stored >= 3 && /\/\d+$/.test(path) ? { status: 503, headers: { 'retry-after': '60' }, body: {} } : undefined;
  };
  const { child, result } = start('send', 'data', '--parts', ...args);
  while (stored < 3 && child.exitCode === null) await sleep(20);
  child.kill(signal);
  const ended = await result;
  service.fault = () => undefined;
  service.requests.length = 0;
  return ended;
}

const kept = async () => (await desk.unfinished.list()).map(({ id }) => id);

test('an upload that Ctrl-C stopped is resumed: what it takes is kept in a file of mode 0600 and forgotten then', async () => {
  const { code, out, err } = await interrupted('SIGINT');
  const [id = ''] = await kept();
  expect({ code, out }).toEqual({ code: 130, out: '' });
  expect(err).toContain(`It can be finished: mayfly resume ${id}\n`);
  const path = join(desk.folder, `mayfly/unfinished/${id}.json`);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const resumed = await start('resume').result;
  expect(resumed.err).toMatch(/^Good for 1 download or /);
  expect(desk.sentParts()).toBeLessThanOrEqual(9 - 3);
  expect(CONTENT.equals(await desk.received(resumed.out))).toBe(true);
  expect(await kept()).toEqual([]);
  expect(await readdir(join(desk.folder, 'mayfly/owned'))).toContain(`${id}.json`);
  expect(await desk.run(['resume'])).toMatchObject({ code: 2, err: 'There is no unfinished upload\n' });
});

test('an upload that was killed is resumed by its id; with several, they are listed', async () => {
  expect((await interrupted('SIGKILL')).code).toBeNull();
  await desk.stopped(file);
  const ids = await kept();
  expect(ids).toHaveLength(2);
  const unclear = await desk.run(['resume']);
  expect(unclear.code).toBe(2);
  for (const id of ids) expect(unclear.err).toContain(`${id}  `);
  const { out } = await desk.run(['resume', ids[0]?.toUpperCase() ?? '']);
  expect(CONTENT.equals(await desk.received(out))).toBe(true);
  expect(await kept()).toEqual([ids[1]]);
  expect((await desk.run(['resume', ids[0] ?? ''])).err).toBe('There is no such unfinished upload\n');
});

test('an upload whose file has changed cannot be resumed: it is said, deleted and forgotten', async () => {
  expect((await interrupted('SIGTERM')).code).toBe(130);
  await appendFile(file, 'more');
  expect(await desk.run(['resume'])).toMatchObject({ code: 14, err: 'data has changed since\n' });
  expect(desk.service.sessions.size).toBe(0);
  expect(await kept()).toEqual([]);
});

test('stdin goes in parts without a spool, and is not kept', async () => {
  const { out } = await desk.run(['send', '-', '--name', 'piped', '--parts'], { stdin: CONTENT });
  expect(desk.sentParts()).toBe(9);
  expect(CONTENT.equals(await desk.received(out))).toBe(true);
  expect(await kept()).toEqual([]);
});

test('on this machine an upload is sent in one piece unless --parts says otherwise', async () => {
  await desk.run(['send', file]);
  expect(desk.service.requests).toEqual(['GET /api/config', 'POST /api/upload']);
  desk.service.requests.length = 0;
  await desk.run(['send', file, '--parts']);
  expect(desk.service.requests[1]).toBe('POST /api/parts');
});

test('Ctrl-C ends what waits for an upload', async () => {
  await desk.stopped(file, '--announce');
  const [send] = await desk.unfinished.list();
  const { child, result } = start('get', desk.here(send?.upload.link ?? ''), '--wait');
  await once(child.stderr, 'data');
  child.kill('SIGINT');
  const err = expect.stringMatching(/waiting for it\nmayfly: Stopped\n$/);
  expect(await result).toMatchObject({ code: 130, out: '', err });
});
