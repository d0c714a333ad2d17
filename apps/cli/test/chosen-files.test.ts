import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileEntry } from '@mayfly/client';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { chooseFiles } from '../src/chosen-files.ts';
import { chooseDestination } from '../src/destination.ts';

const entries = (...names: string[]): FileEntry[] => names.map((name) => ({ name, type: '', size: 1 }));

describe('--only', () => {
  const files = entries('a.txt', 'album/one.jpg', 'album/two.jpg', 'b\u001b.txt', 'a.txt', 'album.zip');
  test.each<[string[] | undefined, number[]]>([
    [undefined, [0, 1, 2, 3, 4, 5]],
    [['album/two.jpg'], [2]],
    [
      ['album/two.jpg', 'album/one.jpg', 'album/two.jpg'],
      [1, 2],
    ],
    [['a.txt'], [0, 4]], // a name that occurs twice
    [['album'], [1, 2]],
    [['album/'], [1, 2]],
    [['b\\u{1b}.txt'], [3]], // as `mayfly info` shows it
  ])('%j', (only, expected) => {
    expect(chooseFiles(files, only)).toEqual(expected);
  });

  test.each([
    ['A.TXT', /^There is no "A.TXT" in it\. Similar: a\.txt; mayfly info LINK lists all names$/],
    ['one.jpg', /Similar: album\/one\.jpg;/],
    ['album/three.jpg', /Similar: album\/(one|two)\.jpg/],
    ['albm/one.jpg', /Similar: album\/one\.jpg/],
    ['quite different', /^There is no "quite different" in it\. mayfly info LINK lists all names$/],
    ['\u001b', /^There is no "\\u\{1b\}" in it\./],
  ])('a name that does not occur is told, with those that are like it: %j', (only, message) => {
    expect(() => chooseFiles(files, [only])).toThrow(message);
  });
});

describe('-o', () => {
  const one = { files: entries('sent.txt') };
  const several = { archive: 'zip' as const, files: entries('a', 'd/b') };

  test('is the name of one file where there is no such folder, whatever its sender called it', async () => {
    await using folder = await freshFolder();
    const at = (...names: string[]) => join(folder.path, ...names);
    await mkdir(at('there'));
    await symlink('there', at('link'));
    const paths = async (output: string, metadata: typeof one = one) =>
      (await chooseDestination(output, metadata)).paths;
    expect(await paths(at('photo.jpg'))).toEqual([at('photo.jpg')]);
    expect(await paths(at('photo.jpg'), { files: entries('../evil') })).toEqual([at('photo.jpg')]);
    expect(await paths(at('there'))).toEqual([at('there/sent.txt')]);
    expect(await paths(at('link'))).toEqual([at('link/sent.txt')]);
    expect(await paths(`${at('new')}/`)).toEqual([at('new/sent.txt')]);
    expect(await paths(at('deep/new/photo.jpg'))).toEqual([at('deep/new/photo.jpg')]);
    expect((await readdir(at('deep/new'))).length).toBe(0);
  });

  test('of several files is a folder', async () => {
    await using folder = await freshFolder();
    const name = join(folder.path, 'album.zip');
    expect((await chooseDestination(name, several)).paths).toEqual([join(name, 'a'), join(name, 'd/b')]);
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    const message = `${file} is not a folder, and it was sent as 2 files that go into a folder: -o FOLDER names another one`;
    await expect(chooseDestination(file, several)).rejects.toThrow(message);
  });

  test('tells what is there already, and refuses what cannot be replaced', async () => {
    await using folder = await freshFolder();
    const [file, dangling, device] = ['file', 'dangling', 'device'].map((name) => join(folder.path, name));
    await writeFile(file ?? '', '');
    await symlink('nowhere', dangling ?? '');
    await symlink('/dev/null', device ?? '');
    expect((await chooseDestination(file ?? '', one)).existing).toEqual([file]);
    expect((await chooseDestination(dangling ?? '', one)).existing).toEqual([dangling]);
    await expect(chooseDestination(device ?? '', one)).rejects.toThrow(
      'is not a file that can be replaced; -o - writes',
    );
    await expect(chooseDestination(`${file}/below`, one)).rejects.toThrow('is not a folder that can be written to');
  });
});
