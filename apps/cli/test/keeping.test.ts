import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { type Owned, ownedItems } from '../src/owned.ts';
import { collectSources } from '../src/sources.ts';

const item = (number: number): Owned => ({
  kind: 'upload',
  id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
  server: 'https://mayfly.example',
  ownerSecret: 'x'.repeat(43),
  name: 'a.txt',
  createdAt: new Date(number * 1000).toISOString(),
  expiresAt: new Date(number * 2000).toISOString(),
});

test('owner secrets are kept in files of mode 0600, also when many commands keep one at once', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'deep/owned');
  expect(await ownedItems(path).list()).toEqual([]);
  await ownedItems(path).prepare();
  await Promise.all(Array.from({ length: 20 }, (_, number) => ownedItems(path).save(item(20 - number))));
  expect((await ownedItems(path).list()).map(({ id }) => Number(id.slice(-3)))).toEqual(
    Array.from({ length: 20 }, (_, number) => number + 1),
  );
  for (const name of await readdir(path)) expect((await stat(join(path, name))).mode & 0o777).toBe(0o600);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

test('an owned item is found by its id in any case, and forgotten', async () => {
  await using folder = await freshFolder();
  const owned = ownedItems(folder.path);
  const kept = { ...item(1), id: 'abcdefab-0000-4000-8000-000000000001' };
  await owned.save(kept);
  expect(await owned.find(kept.id.toUpperCase())).toEqual(kept);
  expect(await owned.find('../../etc/passwd')).toBeUndefined();
  await owned.forget(kept.id);
  expect(await owned.find(kept.id)).toBeUndefined();
});

test('where nothing can be kept, that is said before anything is sent', async () => {
  await using folder = await freshFolder();
  await writeFile(join(folder.path, 'file'), '');
  await expect(ownedItems(join(folder.path, 'file/owned')).prepare()).rejects.toThrow('so nothing was sent');
});

test('a config file: read, or told what is wrong with it', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'config.json');
  expect(await readConfig({ XDG_CONFIG_HOME: folder.path })).toEqual({});
  await expect(readConfig({ MAYFLY_CONFIG: path })).rejects.toThrow('cannot be read');
  const problems: [string, string][] = [
    ['{', 'is not JSON'],
    ['[]', 'is not a JSON object'],
    ['{"servr":"x"}', 'has an unknown setting: servr'],
    ['{"constructor":"x"}', 'has an unknown setting: constructor'],
    ['{"downloads":"3"}', 'downloads is not a number'],
  ];
  for (const [text, problem] of problems) {
    await writeFile(path, text);
    await expect(readConfig({ MAYFLY_CONFIG: path })).rejects.toThrow(problem);
  }
  await writeFile(path, '{"server":"https://mayfly.example","downloads":3}');
  expect(await readConfig({ MAYFLY_CONFIG: path })).toEqual({ server: 'https://mayfly.example', downloads: 3 });
});

test('a folder is all of its files under its name; links in it are left out and told', async () => {
  await using folder = await freshFolder();
  const photos = join(folder.path, 'photos');
  await mkdir(join(photos, 'b/c'), { recursive: true });
  await writeFile(join(photos, 'z.txt'), 'z');
  await writeFile(join(photos, 'b/c/d.txt'), 'd');
  await symlink('/etc/hostname', join(photos, 'a-link'));
  const skipped: string[] = [];
  const sources = await collectSources([`${photos}/`, join(photos, 'z.txt')], (path) => skipped.push(path));
  expect(sources.map(({ name }) => name)).toEqual(['photos/b/c/d.txt', 'photos/z.txt', 'z.txt']);
  expect(skipped).toEqual([`${photos}/a-link`]);
  await mkdir(join(folder.path, 'empty'));
  await expect(collectSources([join(folder.path, 'empty')], () => {})).rejects.toThrow('There is no file in');
  await expect(collectSources([join(folder.path, 'nothing')], () => {})).rejects.toThrow('does not exist');
});
