import { appendFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CONTENT, shareDesk } from './person.ts';

const desk = await shareDesk();
const { file } = desk;

const kept = async () => (await desk.unfinished.list()).map(({ id }) => id);

describe('mayfly send of files whose upload stopped', () => {
  test('asks, and continues where it stopped', async () => {
    const id = await desk.stopped(file);
    const { code, out, asked } = await desk.run(['send', file], { answer: true });
    expect(asked).toEqual([expect.stringMatching(/^Continue the upload that stopped at [345]\d %\?$/)]);
    expect(code).toBe(0);
    expect(out).toContain(id);
    expect(desk.sentParts()).toBeLessThanOrEqual(6);
    expect(CONTENT.equals(await desk.received(out))).toBe(true);
    expect(await kept()).toEqual([]);
  });

  test('sends anew when that is not wanted; the other one can still be finished', async () => {
    const id = await desk.stopped(file);
    const { out } = await desk.run(['send', file, '--parts'], { answer: false });
    expect(out).not.toContain(id);
    expect(desk.sentParts()).toBe(9);
    expect(await kept()).toEqual([id]);
  });

  test.each([[[]], [['--json']]])('sends anew and says how to continue where nobody can be asked: %j', async (more) => {
    const id = await desk.stopped(file);
    const person = more.length > 0 ? { answer: true } : {};
    const { code, out, err, asked } = await desk.run(['send', file, '--parts', ...more], person);
    expect({ code, asked }).toEqual({ code: 0, asked: [] });
    expect(out).not.toContain(id);
    expect(err).toMatch(/stopped at [345]\d %\. They are sent anew; --resume continues it/);
    expect(err).toContain(`mayfly resume ${id}\n`);
  });

  test('continues unasked with --resume, and never asks with --no-resume', async () => {
    const id = await desk.stopped(file);
    const anew = await desk.run(['send', file, '--parts', '--no-resume'], { answer: true });
    expect([anew.asked, anew.err]).toEqual([[], expect.not.stringContaining('stopped')]);
    const { code, out, err, asked } = await desk.run(['send', file, '--resume', '--json'], { answer: false });
    expect({ code, asked }).toEqual({ code: 0, asked: [] });
    expect(JSON.parse(out)).toMatchObject({ id, maxUses: 1 });
    expect(err).toMatch(/^Continuing the upload that stopped at [345]\d %\.\n$/);
    expect((await desk.run(['send', file, '--parts', '--resume'])).code).toBe(0); // there is none any more: it is sent
  });

  test('says that options which were given now do not count', async () => {
    await desk.stopped(file);
    const { asked } = await desk.run(['send', file, '--expires', '1h', '--downloads', '1'], { answer: true });
    expect(asked).toEqual([expect.stringContaining('(its own options apply: 1d, 1 download, no password)?')]);
    await desk.stopped(file);
    const { err } = await desk.run(['send', file, '--expires', '1d', '--resume']);
    expect(err).not.toContain('options');
  });

  test('keeps its password; without one it is not what was asked for, and is not continued', async () => {
    const password = join(desk.folder, 'password');
    await writeFile(password, 'secret\n');
    const open = await desk.stopped(file);
    const anew = await desk.run(['send', file, '--parts', '--resume', '--password-file', password]);
    expect([anew.code, anew.err]).toEqual([0, expect.stringContaining('but it has no password; they are sent anew')]);
    expect(anew.out).not.toContain(open);
    const locked = await desk.stopped(file, '--password-file', password);
    const { out, err } = await desk.run(['send', file, '--resume', '--password-file', password]);
    expect(err).toContain('1d, 1 download, the password that was given then');
    expect(out).toContain(locked);
  });

  test.each<[string, () => Promise<string[]>]>([
    [
      'another time',
      async () => {
        await utimes(file, 1, 1);
        return [file];
      },
    ],
    [
      'another size',
      async () => {
        await writeFile(file, CONTENT.subarray(1));
        return [file];
      },
    ],
    ['another file with it', async () => [file, join(desk.folder, 'other')]],
    ['--no-parts', async () => [file, '--no-parts']],
  ])('does not ask when it is not the same: %s', async (_, change) => {
    await writeFile(join(desk.folder, 'other'), 'other');
    await desk.stopped(file);
    const { asked } = await desk.run(['send', ...(await change())], { answer: true });
    expect(asked).toEqual([]);
  });

  test('sends anew what goes to another service', async () => {
    await desk.stopped(file);
    const elsewhere = desk.baseUrl.replace('127.0.0.1', 'localhost');
    const { asked } = await desk.run(['send', file, '--server', elsewhere], { answer: true });
    expect(asked).toEqual([]);
  });

  test('sends anew when the service has nothing of it any more', async () => {
    await desk.stopped(file);
    desk.service.sessions.clear();
    const { code, err, asked } = await desk.run(['send', file, '--parts', '--resume'], { answer: true });
    expect([code, asked]).toEqual([0, []]);
    expect(err).toContain('cannot be continued any more; it is sent anew');
    expect(await kept()).toEqual([]);
  });

  test('stdin cannot be continued, and neither can what is sent in one piece', async () => {
    expect(await desk.run(['send', '-', '--resume'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--resume is for files'),
    });
    expect((await desk.run(['send', file, '--resume', '--no-parts'])).code).toBe(2);
  });
});

test('an upload whose file is away for a while stays unfinished', async () => {
  const id = await desk.stopped(file);
  await rename(file, `${file}.away`);
  const { code, err } = await desk.run(['resume']);
  expect([code, err]).toEqual([14, expect.stringContaining(`mayfly resume ${id}\n`)]);
  await rename(`${file}.away`, file);
  expect((await desk.run(['resume'])).out).toContain(id);
});

test('--parallel: so many parts at once and no more', async () => {
  /** How many parts are stored when the second one comes, while the first is refused once. */
  async function storedBeforeSecond(parallel: string) {
    await desk.reset();
    let isRefused = false;
    let stored: number | undefined;
    desk.service.fault = ({ path }) => {
      if (path.endsWith('/2')) stored ??= [...desk.service.sessions.values()][0]?.parts.size;
      if (isRefused || !path.endsWith('/1')) return undefined;
      isRefused = true;
      return { status: 503, body: {} };
    };
    expect((await desk.run(['send', file, '--parts', '--parallel', parallel])).code).toBe(0);
    desk.service.fault = () => undefined;
    return stored;
  }
  expect(await storedBeforeSecond('1')).toBe(1);
  expect(await storedBeforeSecond('2')).toBe(0);
  for (const wrong of ['0', '9', '1.5', 'many']) {
    const { code, err } = await desk.run(['send', file, '--parallel', wrong]);
    expect([code, err]).toEqual([2, expect.stringContaining('It must be a whole number from 1 to 8.')]);
  }
});

test.each([['data'], ['-']])(
  'what is said on a terminal while progress is drawn has a line of its own: %s',
  async (what) => {
    let isRefused = false;
    desk.service.fault = ({ path }) => {
      if (isRefused || !path.endsWith('/5')) return undefined;
      isRefused = true;
      return { status: 503, body: {} };
    };
    const { err } = await desk.run(['send', what.replace('data', file), '--parts'], { isTTY: true, stdin: CONTENT });
    desk.service.fault = () => undefined;
    expect(err).toContain('Sending ');
    expect(err).toContain('\r\u001b[2KThe service is not available at the moment; trying again\n');
  },
);

describe('mayfly resume without the file', () => {
  test.each<[string, () => Promise<void>]>([
    ['is away', () => rm(file)],
    ['has changed', () => appendFile(file, 'more')],
  ])('finishes an upload that is stored and only has to be completed: it %s', async (_, change) => {
    const stop = new AbortController();
    desk.service.fault = ({ path }) => {
      if (!path.endsWith('/complete')) return undefined;
      stop.abort();
      return { status: 503, body: {} };
    };
    expect((await desk.run(['send', file, '--parts'], { signal: stop.signal })).code).toBe(130);
    desk.service.fault = () => undefined;
    await change();
    const { code, out } = await desk.run(['resume']);
    expect(code).toBe(0);
    expect(CONTENT.equals(await desk.received(out))).toBe(true);
    expect(await kept()).toEqual([]);
  });

  test('forgets one of which the service has nothing any more', async () => {
    await desk.stopped(file);
    await rm(file);
    desk.service.sessions.clear();
    expect((await desk.run(['resume'])).code).toBe(18);
    expect(await kept()).toEqual([]);
  });
});
