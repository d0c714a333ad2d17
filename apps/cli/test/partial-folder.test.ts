import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { createPartialFolder, findPartialFolder, type PartialRecord } from '../src/receiving/partial-folder.ts';
import { writeFiles } from '../src/receiving/write-files.ts';
import { findStart, nothingOf } from '../src/receiving/written.ts';
import { openDesk } from './person.ts';

const ID = randomUUID();
const LEASE = 'L'.repeat(43);
const CONTENTS = [randomBytes(1000), randomBytes(5000), randomBytes(10)];
const FILES = CONTENTS.map(({ length }, index) => ({ name: `${index}`, type: '', size: length }));

const record = (more: Partial<PartialRecord> = {}): PartialRecord => ({
  version: 1,
  id: ID,
  lease: LEASE,
  idleSec: 3600,
  indexes: [0, 1, 2],
  position: { index: 0, bytes: 0, crc32: 0 },
  ...more,
});

/** A process that has ended, and has no successor yet. */
async function deadMark() {
  const child = spawn(process.execPath, ['--version']);
  await once(child, 'exit');
  return `held-by-${child.pid}-1`;
}

async function markOf(folder: string) {
  return (await readdir(folder)).find((name) => name.startsWith('held-by-')) ?? '';
}

describe('a partial folder', () => {
  test('is for its owner alone, and is found again with what was saved once it is left', async () => {
    await using parent = await freshFolder();
    const made = await createPartialFolder(parent.path, ID);
    expect(made.path).toBe(join(parent.path, `.mayfly-${ID}.part`));
    await made.save(record());
    expect((await stat(made.path)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(made.path)) expect((await stat(join(made.path, name))).mode & 0o777).toBe(0o600);
    expect(await findPartialFolder(parent.path, ID)).toBeUndefined(); // somebody works with it
    await made[Symbol.asyncDispose]();
    expect(await findPartialFolder(parent.path, randomUUID())).toBeUndefined();
    const found = await findPartialFolder(parent.path, ID);
    expect((await found?.read())?.record).toEqual(record());
    await found?.remove();
    await found?.[Symbol.asyncDispose]();
    expect(await readdir(parent.path)).toEqual([]);
  });

  test('of a process that was killed is taken by one of many', async () => {
    await using parent = await freshFolder();
    const { path } = await createPartialFolder(parent.path, ID);
    await rename(join(path, await markOf(path)), join(path, await deadMark()));
    const found = await Promise.all(Array.from({ length: 20 }, () => findPartialFolder(parent.path, ID)));
    expect(found.filter((one) => one !== undefined)).toHaveLength(1);
  });

  test.runIf(process.platform === 'linux')('of a process whose number another one has now is taken', async () => {
    await using parent = await freshFolder();
    const { path } = await createPartialFolder(parent.path, ID);
    await rename(join(path, await markOf(path)), join(path, `held-by-${process.pid}-1`));
    expect(await findPartialFolder(parent.path, ID)).toBeDefined();
  });

  test('a second one has a number, and whichever is left behind is found', async () => {
    await using parent = await freshFolder();
    const folders = await Promise.all(Array.from({ length: 5 }, () => createPartialFolder(parent.path, ID)));
    const names = folders.map(({ path }) => path.slice(parent.path.length + 1)).toSorted();
    expect(names).toEqual([2, 3, 4, 5].map((number) => `.mayfly-${ID}-${number}.part`).concat(`.mayfly-${ID}.part`));
    await folders[3]?.[Symbol.asyncDispose]();
    expect((await findPartialFolder(parent.path, ID))?.path).toBe(folders[3]?.path);
  });

  test('that got no name before its process was killed is used', async () => {
    await using parent = await freshFolder();
    const { path } = await createPartialFolder(parent.path, ID);
    await rename(join(path, await markOf(path)), join(path, await deadMark()));
    await rename(path, join(parent.path, `.mayfly-${ID}-${randomUUID()}.part`));
    expect(await findPartialFolder(parent.path, ID)).toBeDefined();
  });

  test.each<[string, (path: string, elsewhere: string) => Promise<unknown>]>([
    ['a link', (path, elsewhere) => symlink(elsewhere, path)],
    ['a link that leads nowhere', (path, elsewhere) => symlink(`${elsewhere}/none`, path)],
    ['a file', (path) => writeFile(path, 'mine')],
    [
      'a folder that others may write to',
      async (path, elsewhere) => {
        await rename(elsewhere, path);
        await chmod(path, 0o777);
      },
    ],
    [
      'a folder that nobody has marked',
      async (path) => {
        await mkdir(path, { mode: 0o700 });
        await writeFile(join(path, 'record.json'), JSON.stringify(record()));
      },
    ],
  ])('leaves alone what is in its place: %s', async (_, plant) => {
    await using parent = await freshFolder();
    await using apart = await freshFolder();
    const elsewhere = await createPartialFolder(apart.path, ID);
    await elsewhere.save(record());
    await elsewhere[Symbol.asyncDispose]();
    const path = join(parent.path, `.mayfly-${ID}.part`);
    await plant(path, elsewhere.path);
    expect(await findPartialFolder(parent.path, ID)).toBeUndefined();
    const made = await createPartialFolder(parent.path, ID);
    expect(made.path).toBe(join(parent.path, `.mayfly-${ID}-2.part`));
    await made.save(record({ idleSec: 5 }));
    await made.remove();
    expect(await readdir(parent.path)).toEqual([`.mayfly-${ID}.part`]);
  });

  test.each<[string, (path: string) => Promise<unknown>]>([
    ['cut short', (path) => writeFile(path, JSON.stringify(record()).slice(0, 50))],
    ['of a newer version', (path) => writeFile(path, JSON.stringify({ ...record(), version: 2 }))],
    ['of another upload', (path) => writeFile(path, JSON.stringify({ ...record(), id: randomUUID() }))],
    ['without a lease', (path) => writeFile(path, JSON.stringify({ ...record(), lease: undefined }))],
    [
      'a folder',
      async (path) => {
        await rm(path);
        await mkdir(path);
      },
    ],
    [
      'a link',
      async (path) => {
        await rename(path, `${path}.real`);
        await symlink(`${path}.real`, path);
      },
    ],
  ])('a record that is none is not used: %s', async (_, change) => {
    await using parent = await freshFolder();
    const made = await createPartialFolder(parent.path, ID);
    await made.save(record());
    expect(await made.read()).toBeDefined();
    await change(join(made.path, 'record.json'));
    expect(await made.read()).toBeUndefined();
  });
});

describe('what is written of a download', () => {
  /** File 0 and 3000 bytes of file 1, as they were when the process was killed. */
  async function killed(parent: string) {
    const folder = await createPartialFolder(parent, ID);
    await writeFile(join(folder.path, '0'), CONTENTS[0] ?? '');
    await writeFile(join(folder.path, '1'), CONTENTS[1]?.subarray(0, 4000) ?? '');
    const position = { index: 1, bytes: 3000, crc32: crc32(CONTENTS[1]?.subarray(0, 3000) ?? '') };
    await folder.save(record({ position }));
    const find = async () => {
      const kept = await folder.read();
      if (!kept) throw new Error('there is no record');
      const { index, bytes } = await findStart(folder, kept, FILES);
      return [index, bytes];
    };
    return { folder, find, path: (index: number) => join(folder.path, String(index)) };
  }

  test('is gone on with where the record says, without what was written later', async () => {
    await using parent = await freshFolder();
    const { find, path } = await killed(parent.path);
    expect(await find()).toEqual([1, 3000]);
    expect((await stat(path(1))).size).toBe(3000);
    expect(await find()).toEqual([1, 3000]);
  });

  test.each<[string, [number, number], (path: (index: number) => string) => Promise<unknown>]>([
    ['the one in the middle is shorter', [1, 0], (path) => writeFile(path(1), CONTENTS[1]?.subarray(0, 2999) ?? '')],
    ['the one in the middle is another', [1, 0], (path) => writeFile(path(1), randomBytes(4000))],
    ['the one in the middle is gone', [1, 0], (path) => rm(path(1))],
    [
      'the one in the middle is a folder',
      [1, 0],
      async (path) => {
        await rm(path(1));
        await mkdir(path(1));
      },
    ],
    [
      'the one in the middle is a link to the same bytes',
      [1, 0],
      async (path) => {
        await rename(path(1), path(9));
        await symlink(path(9), path(1));
      },
    ],
    [
      'the one in the middle is a pipe',
      [1, 0],
      async (path) => {
        await rm(path(1));
        await once(spawn('mkfifo', [path(1)]), 'exit');
      },
    ],
    ['a whole one is longer', [0, 0], (path) => appendFile(path(0), 'x')],
    ['a whole one was written since', [0, 0], (path) => utimes(path(0), new Date(), new Date(Date.now() + 5000))],
    ['a whole one is gone', [0, 0], (path) => rm(path(0))],
    [
      'a whole one is a link',
      [0, 0],
      async (path) => {
        await rename(path(0), path(9));
        await symlink(path(9), path(0));
      },
    ],
  ])('begins anew where it has changed: %s', async (_, expected, change) => {
    await using parent = await freshFolder();
    const { find, path } = await killed(parent.path);
    await change(path);
    expect(await find()).toEqual(expected);
  });

  test('never goes through a link that was planted: what it leads to stays as it is', async () => {
    await using parent = await freshFolder();
    const { folder, path } = await killed(parent.path);
    const victim = join(parent.path, 'victim');
    await writeFile(victim, 'precious');
    await rm(path(0));
    await symlink(victim, path(0));
    async function* files() {
      yield { index: 0, stream: new Blob([new Uint8Array(CONTENTS[0] ?? [])]).stream() };
    }
    await writeFiles(files(), folder, nothingOf(0), async () => {});
    expect(await readFile(victim, 'utf8')).toBe('precious');
    expect(CONTENTS[0]?.equals(await readFile(path(0)))).toBe(true);
  });

  test('that fails is kept to the byte, whether in a file or between two', async () => {
    await using parent = await freshFolder();
    const folder = await createPartialFolder(parent.path, ID);
    const broken = new Error('broken');
    for (const [pieces, position] of [
      [1, { index: 1, bytes: 2000 }],
      [3, { index: 1, bytes: 5000 }],
    ] as const) {
      async function* files() {
        yield { index: 0, stream: new Blob([new Uint8Array(CONTENTS[0] ?? [])]).stream() };
        async function* some() {
          for (let piece = 0; piece < pieces; piece += 1) yield CONTENTS[1]?.subarray(piece * 2000, (piece + 1) * 2000);
          if (pieces === 1) throw broken;
        }
        yield { index: 1, stream: ReadableStream.from(some()) as ReadableStream<Uint8Array> };
        throw broken;
      }
      const save = (at: PartialRecord['position']) => folder.save(record({ position: at }));
      const writing = writeFiles(files(), folder, nothingOf(0), save);
      await expect(writing).rejects.toMatchObject({ code: 'disk', cause: broken });
      const kept = await folder.read();
      expect(kept?.record.position).toMatchObject(position);
      if (kept) expect(await findStart(folder, kept, FILES)).toMatchObject(position);
    }
  });
});

test('a process that was killed while files got their names: the next one names the others, and asks nobody', async () => {
  await using desk = await openDesk();
  const parent = join(desk.folder, 'got');
  await mkdir(parent);
  const folder = await createPartialFolder(parent, ID);
  await writeFile(join(parent, 'first'), CONTENTS[0] ?? '');
  await writeFile(join(parent, 'last'), 'came there meanwhile');
  for (const index of [1, 2]) await writeFile(join(folder.path, `${index}`), CONTENTS[index] ?? '');
  const paths = ['first', 'sub/second', 'last'].map((name) => join(parent, name));
  await folder.save(record({ paths }));
  await folder[Symbol.asyncDispose]();
  const { code, out } = await desk.run(['get', `${desk.baseUrl}/d/${ID}#${'A'.repeat(43)}`, '-o', parent]);
  expect([code, out]).toEqual([
    0,
    ['first', 'sub/second', 'last (2)', ''].map((name) => name && `${parent}/${name}`).join('\n'),
  ]);
  expect(desk.service.requests).toEqual([]);
  expect((await readdir(parent)).toSorted()).toEqual(['first', 'last', 'last (2)', 'sub']);
  expect(CONTENTS[1]?.equals(await readFile(join(parent, 'sub/second')))).toBe(true);
});
