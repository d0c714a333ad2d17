import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Download, type FileEntry, MayflyError } from '@mayfly/client';
import { freshFolder } from '@mayfly/testing/stores';
import { makeZip } from 'client-zip';
import { expect, test } from 'vitest';
import { chooseDestination } from '../src/destination.ts';
import { safeEntryParts } from '../src/entry-names.ts';
import { saveFiles } from '../src/save.ts';

const LONG = 'x'.repeat(300);

test.each([
  '../a',
  'a/../../b',
  '/etc/passwd',
  '..',
  '.',
  '',
  'a//b',
  '..\\a',
  'C:\\..\\a',
  '\\\\host\\a',
  'a/',
  './a',
])('a name that leads elsewhere is refused: %s', (name) => {
  expect(() => safeEntryParts(name, 'linux')).toThrow('which would not stay in the folder');
});

test('a name keeps what is harmless and loses what is not', () => {
  expect(safeEntryParts('photos/Grüße aus Köln.jpg', 'linux')).toEqual(['photos', 'Grüße aus Köln.jpg']);
  expect(safeEntryParts('a\u001b[31m\nb', 'linux')).toEqual(['a_[31m_b']);
  expect(safeEntryParts('a:b?.txt', 'linux')).toEqual(['a:b?.txt']);
  expect(safeEntryParts('a:b?.txt', 'win32')).toEqual(['a_b_.txt']);
  expect(safeEntryParts('sub/CON.txt', 'win32')).toEqual(['sub', '_CON.txt']);
  expect(safeEntryParts(`${LONG}.tar`, 'linux')[0]).toMatch(/^x{236}\.tar$/);
});

test('two files of one name get two names, also where a system takes them for one', async () => {
  await using folder = await freshFolder();
  const { paths } = await chooseDestination(folder.path, {
    archive: 'zip',
    files: entries('a.txt', 'A.TXT', 'd/b', 'd/b'),
  });
  expect(paths.map((path) => path.slice(folder.path.length + 1))).toEqual(['a.txt', 'A (2).TXT', 'd/b', 'd/b (2)']);
});

test('what would fail later is found before a download is spent', async () => {
  await using folder = await freshFolder();
  const choose = (...files: FileEntry[]) => chooseDestination(folder.path, { archive: 'zip', files });
  await expect(choose(...entries('a', 'a/b'))).rejects.toThrow('one name to a file and to a folder');
  await expect(choose({ name: 'a', type: '', size: 2 ** 60 })).rejects.toThrow(/are needed in .*, .* are free/);
  await writeFile(join(folder.path, 'there'), '');
  expect((await choose(...entries('there', 'new'))).existing).toEqual([join(folder.path, 'there')]);
  await expect(choose(...entries('there/a', 'b'))).rejects.toThrow('not a folder');
});

test('a link in the folder that leads out of it is not followed', async () => {
  await using folder = await freshFolder();
  await mkdir(join(folder.path, 'inside/real'), { recursive: true });
  await mkdir(join(folder.path, 'outside'));
  await symlink('../outside', join(folder.path, 'inside/out'));
  await symlink('real', join(folder.path, 'inside/in'));
  const inside = join(folder.path, 'inside');
  await expect(chooseDestination(inside, { files: entries('out/x') })).rejects.toThrow('leads out of');
  await expect(chooseDestination(inside, { files: entries('out/new/x') })).rejects.toThrow('leads out of');
  expect((await chooseDestination(inside, { files: entries('in/x') })).paths).toEqual([join(inside, 'in/x')]);
});

test('an archive becomes files only after its end was verified', async () => {
  await using folder = await freshFolder();
  const { metadata, payload, bytes } = await archive({ 'a.txt': 'one', 'd/b.txt': 'two' });
  const destination = await chooseDestination(folder.path, metadata);
  const broken = new MayflyError('tampered');
  const failing = payload(async function* () {
    yield bytes;
    expect((await readdir(folder.path)).filter((name) => !name.startsWith('.'))).toEqual([]);
    throw broken;
  });
  await expect(saveFiles(failing, folder.path, { ...destination, mayReplace: false })).rejects.toBe(broken);
  expect(await readdir(folder.path)).toEqual([]);

  await saveFiles(
    payload(async function* () {
      yield bytes;
    }),
    folder.path,
    { ...destination, mayReplace: false },
  );
  expect(await readFile(join(folder.path, 'd/b.txt'), 'utf8')).toBe('two');
  expect((await readdir(folder.path)).toSorted()).toEqual(['a.txt', 'd']);
});

test('a file that came there meanwhile stays: the new one gets the next free name', async () => {
  await using folder = await freshFolder();
  const { metadata, payload, bytes } = await archive({ 'a.txt': 'new', 'b.txt': 'new' });
  const destination = await chooseDestination(folder.path, metadata);
  await writeFile(join(folder.path, 'a.txt'), 'old');
  const whole = async function* () {
    yield bytes;
  };
  const saved = await saveFiles(payload(whole), folder.path, { ...destination, mayReplace: false });
  expect(saved.map(({ path }) => path)).toEqual([join(folder.path, 'a (2).txt'), join(folder.path, 'b.txt')]);
  expect(await readFile(join(folder.path, 'a.txt'), 'utf8')).toBe('old');
  await saveFiles(payload(whole), folder.path, { ...destination, mayReplace: true });
  expect(await readFile(join(folder.path, 'a.txt'), 'utf8')).toBe('new');
});

const entries = (...names: string[]): FileEntry[] => names.map((name) => ({ name, type: '', size: 1 }));

async function archive(files: Record<string, string>) {
  const names = Object.entries(files).map(([name, text]) => ({ name, input: text }));
  const bytes = new Uint8Array(await new Response(makeZip(names)).arrayBuffer());
  const metadata = {
    archive: 'zip' as const,
    files: Object.entries(files).map(([name, text]) => ({ name, type: '', size: text.length })),
  };
  const payload = (pieces: () => AsyncGenerator<Uint8Array>): Download => ({
    metadata,
    size: bytes.length,
    payload: ReadableStream.from(pieces()),
  });
  return { metadata, bytes, payload };
}
