import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ownedItems } from '../src/owned.ts';
import { shareDesk } from './person.ts';

// What cannot be written to is told before anything is downloaded.

const desk = await shareDesk();

describe.skipIf(process.platform !== 'linux')('where nothing can be made (Linux only)', () => {
  test.each([
    ['one file', 1, '/proc/x', '/proc'],
    ['one file in a folder', 1, '/proc/x/', '/proc/x/'],
    ['several files', 2, '/proc/x', '/proc/x'],
    ['several files, further down', 2, '/proc/x/y/z', '/proc/x/y/z'],
  ])('%s', async (_, count, output, named) => {
    const folder = join(desk.folder, 'two');
    await mkdir(folder, { recursive: true });
    for (const name of ['a', 'b'].slice(0, count)) await writeFile(join(folder, name), name);
    const sent = count === 1 ? join(folder, 'a') : folder;
    const { out } = await desk.run(['send', sent, '--parts']);
    desk.service.requests.length = 0;
    const { code, err } = await desk.run(['get', desk.here(out), '-o', output]);
    expect([code, err]).toEqual([15, `${named} is not a folder that can be written to (ENOENT)\n`]);
    expect(desk.service.requests.filter((request) => /download|lease/.test(request))).toEqual([]);
  });
});

test.skipIf(process.platform !== 'linux')('nor can be kept what it takes to delete it again', async () => {
  const reason = 'in /proc/x/owned, so nothing was sent';
  const prepare = ownedItems('/proc/x/owned').prepare();
  await expect(prepare).rejects.toMatchObject({ code: 'disk', message: expect.stringContaining(reason) });
});

describe('where there is room', () => {
  const inner = join(desk.folder, 'new/and/deeper');
  beforeAll(() => rm(join(desk.folder, 'new'), { recursive: true, force: true }));

  test('folders are made, and nothing else is left in them', async () => {
    const { out } = await desk.run(['send', desk.file, '--parts']);
    const got = await desk.run(['get', desk.here(out), '-o', `${inner}/`]);
    expect([got.code, await readdir(inner)]).toEqual([0, ['data']]);
  });
});
