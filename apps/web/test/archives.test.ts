import { MayflyError, type Metadata } from '@mayfly/client';
import { makeZip } from 'client-zip';
import { expect, test } from 'vitest';
import { toFolders, visibleName } from '../src/archives/entries.ts';
import { numbered, safePath } from '../src/archives/safe-path.ts';
import { saveToFolder } from '../src/archives/save-to-folder.ts';

const entry = (name: string, size = 1) => ({ name, size, type: '' });

test('entries are folders with their sums, in the order of their names', () => {
  const top = toFolders([entry('b/10.txt', 10), entry('b/9.txt', 9), entry('a.txt', 1), entry('b/c/x', 5)]);
  expect(top).toEqual({
    name: '',
    sizeBytes: 25,
    fileCount: 4,
    files: [{ name: 'a.txt', sizeBytes: 1, index: 2 }],
    folders: [
      {
        name: 'b',
        sizeBytes: 24,
        fileCount: 3,
        files: [
          { name: '9.txt', sizeBytes: 9, index: 1 },
          { name: '10.txt', sizeBytes: 10, index: 0 },
        ],
        folders: [
          { name: 'c', sizeBytes: 5, fileCount: 1, files: [{ name: 'x', sizeBytes: 5, index: 3 }], folders: [] },
        ],
      },
    ],
  });
});

test('a name cannot hide what it is', () => {
  expect(visibleName('photo\u202egpj.exe')).toBe('photo□gpj.exe');
  expect(visibleName('a\u0000b\nc\u200bd\ud800')).toBe('a□b□c□d\ufffd');
  expect(visibleName('Grüße 東京 👍.txt')).toBe('Grüße 東京 👍.txt');
  expect(visibleName('a\u200db.txt')).toBe('a□b.txt');
});

test('joiners stay where letters and emoji need them', () => {
  for (const name of ['👩‍👩‍👧.jpg', '🏳️‍🌈.png', '👩🏽‍💻.txt', 'می\u200cخواهم.txt', 'क्\u200dष.txt'])
    expect(visibleName(name)).toBe(name);
});

test.each([
  ['../../etc/passwd', ['etc', 'passwd']],
  ['/etc/passwd', ['etc', 'passwd']],
  ['..\\..\\Windows\\x.dll', ['Windows', 'x.dll']],
  ['C:\\x.txt', ['C_', 'x.txt']],
  ['..', ['file']],
  ['', ['file']],
  ['a/./b//c', ['a', 'b', 'c']],
  ['con', ['_con']],
  ['LPT1.txt', ['_LPT1.txt']],
  ['console.log', ['console.log']],
  ['trailing. . ', ['trailing']],
  ['...', ['file']],
  ['a<b>|?.txt', ['a_b___.txt']],
  ['e\u0301.txt', ['\u00e9.txt']],
  ['x\u202etxt.exe', ['x_txt.exe']],
  [`${'x'.repeat(500)}.tar.gz`, [`${'x'.repeat(117)}.gz`]],
])('%j is saved as %j', (name, path) => {
  expect(safePath(name)).toEqual(path);
});

test('a second name has its number before the ending', () => {
  expect(['a.txt', 'a', '.env'].map((name) => numbered(name, 2))).toEqual(['a (2).txt', 'a (2)', '.env (2)']);
  expect(numbered('a.txt', 1)).toBe('a.txt');
});

test('an archive is unpacked into a folder, beside what is there', async () => {
  const folder = new FakeFolder();
  folder.entries.set('a.txt', 'mine');
  folder.entries.set('dir', 'a file where a folder should be');
  const saved: string[] = [];
  const files = { 'a.txt': 'one', 'dir/b.txt': 'two', '../c.txt': 'three', 'A.txt': '' };
  await saveToFolder(folder.handle(), await archive(files), (path) => saved.push(path));
  expect(saved).toEqual(['a (2).txt', 'dir (2)/b.txt', 'c.txt', 'A.txt']);
  expect(folder.toJSON()).toEqual({
    'a.txt': 'mine',
    dir: 'a file where a folder should be',
    'a (2).txt': 'one',
    'dir (2)': { 'b.txt': 'two' },
    'c.txt': 'three',
    'A.txt': '',
  });
});

test('one file that is no archive is saved, too', async () => {
  const folder = new FakeFolder();
  const metadata = { files: [entry('a.txt', 3)] };
  await saveToFolder(folder.handle(), { metadata, payload: new Blob(['one']).stream() });
  expect(folder.toJSON()).toEqual({ 'a.txt': 'one' });
});

test('when the payload breaks off, the file that is not complete is not there, and complete ones are', async () => {
  const folder = new FakeFolder();
  const { metadata, payload } = await archive({ 'a.txt': 'one', 'b.txt': 'x'.repeat(1000) });
  const saved: string[] = [];
  const failing = cutAfter(payload, 400);
  const result = saveToFolder(folder.handle(), { metadata, payload: failing }, (path) => saved.push(path));
  await expect(result).rejects.toMatchObject({ code: 'network' });
  expect(saved).toEqual(['a.txt']);
  expect(folder.toJSON()).toEqual({ 'a.txt': 'one' });
});

async function archive(files: Record<string, string>) {
  const inputs = Object.entries(files).map(([name, text]) => ({ name, input: text, lastModified: new Date() }));
  const metadata: Metadata = {
    archive: 'zip',
    files: Object.entries(files).map(([name, text]) => entry(name, text.length)),
  };
  return { metadata, payload: makeZip(inputs) };
}

/** Hands on so many bytes, one by one, then breaks. */
function cutAfter(payload: ReadableStream<Uint8Array>, bytes: number) {
  let left = bytes;
  return payload.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        for (const byte of chunk) {
          if (left === 0) throw new MayflyError('network');
          controller.enqueue(Uint8Array.of(byte));
          left -= 1;
        }
      },
    }),
  );
}

/** What the File System Access interface promises, in memory: bytes are there once a writable is closed. */
class FakeFolder {
  readonly entries = new Map<string, string | FakeFolder>();

  toJSON(): Record<string, unknown> {
    const shown = [...this.entries].map(([name, one]) => [name, one instanceof FakeFolder ? one.toJSON() : one]);
    return Object.fromEntries(shown);
  }

  handle(ownName = ''): FileSystemDirectoryHandle {
    const { entries } = this;
    const handle = {
      name: ownName,
      async getDirectoryHandle(name: string) {
        const known = entries.get(name);
        if (typeof known === 'string') throw new DOMException('', 'TypeMismatchError');
        const folder = known ?? new FakeFolder();
        entries.set(name, folder);
        return folder.handle(name);
      },
      async getFileHandle(name: string, { create = false } = {}) {
        if (entries.get(name) instanceof FakeFolder) throw new DOMException('', 'TypeMismatchError');
        if (!entries.has(name) && !create) throw new DOMException('', 'NotFoundError');
        if (!entries.has(name)) entries.set(name, '');
        return { name, createWritable: async () => writable((text) => entries.set(name, text)) };
      },
      removeEntry: async (name: string) => void entries.delete(name),
    };
    return handle as unknown as FileSystemDirectoryHandle; // as much of it as is used
  }
}

function writable(close: (text: string) => void): WritableStream<Uint8Array> {
  const decoder = new TextDecoder();
  let text = '';
  return new WritableStream({
    write(chunk) {
      text += decoder.decode(chunk, { stream: true });
    },
    close: () => close(text),
  });
}
