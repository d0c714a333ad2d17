import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Metadata } from '../src/metadata.ts';
import { buildPayload } from '../src/payload.ts';
import type { Source } from '../src/source.ts';
import { unpack } from '../src/unpack.ts';
import { collect, inPieces } from './bytes.ts';
import { patterned } from './reference.ts';

function source(name: string, content: Uint8Array): Source {
  return { name, size: content.length, type: 'text/plain', stream: () => inPieces(content, 10_000) };
}

async function unpackAll(metadata: Metadata, payload: Uint8Array, piece?: number) {
  const files = new Map<string, Buffer>();
  for await (const { name, stream } of unpack(metadata, inPieces(payload, piece)))
    files.set(name, await collect(stream));
  return files;
}

const THREE = [
  source('a.txt', patterned(70_000)),
  source('folder/empty', patterned(0)),
  source('ü 蜉蝣.txt', patterned(5)),
];

const hasPython = spawnSync('python3', ['--version']).status === 0;

describe('several files', () => {
  test('are an archive of exactly the size computed, and come out as they went in', async () => {
    const names = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((name) => !/[\\/]/.test(name));
    const files = fc.array(fc.tuple(names, fc.integer({ min: 0, max: 30_000 })), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 100, max: 50_000 }), async (parts, piece) => {
        const { metadata, size, stream } = buildPayload(parts.map(([name, length]) => source(name, patterned(length))));
        const payload = await collect(stream());
        expect(payload.length).toBe(size);
        const unpacked = await unpackAll(metadata, payload, piece);
        expect(unpacked.size).toBe(parts.length);
        metadata.files.forEach(({ name }, index) => {
          expect(unpacked.get(name)?.equals(patterned(parts[index]?.[1] ?? -1))).toBe(true);
        });
      }),
      { numRuns: 60 },
    );
  });

  test.skipIf(!hasPython)('are a zip that other programs read', async () => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'three.zip');
    writeFileSync(path, await collect(buildPayload(THREE).stream()));
    const script =
      'import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint("\\n".join(z.namelist()))';
    const names = execFileSync('python3', ['-c', script, path], { env: { PATH: process.env.PATH, PYTHONUTF8: '1' } });
    expect(names.toString().trim().split('\n')).toEqual(['a.txt', 'folder/empty', 'ü 蜉蝣.txt']);
  });

  test('of the same name get different ones', () => {
    const files = ['a.txt', 'A.txt', 'a (2).txt', '/a.txt', 'x/.b', 'x\\.b'].map((name) => source(name, patterned(1)));
    expect(buildPayload(files).metadata.files.map(({ name }) => name)).toEqual([
      'a.txt',
      'A (2).txt',
      'a (2) (2).txt',
      'a (3).txt',
      'x/.b',
      'x/.b (2)',
    ]);
  });

  test('may have names that text handling changes', async () => {
    const names = ['\uFEFFmark', 'half \uD83D', 'e\u0301', '__proto__', 'nul\0'];
    const { metadata, stream } = buildPayload(names.map((name) => source(name, patterned(3))));
    const unpacked = await unpackAll(metadata, await collect(stream()));
    expect([...unpacked.keys()]).toEqual(names.map((name) => name.toWellFormed()));
  });

  test('can be skipped by a receiver', async () => {
    const { metadata, stream } = buildPayload(THREE);
    const names: string[] = [];
    for await (const file of unpack(metadata, stream())) names.push(file.name);
    expect(names).toEqual(['a.txt', 'folder/empty', 'ü 蜉蝣.txt']);
  });

  test('that are not what the metadata says fail', async () => {
    const { metadata, stream } = buildPayload(THREE);
    const payload = await collect(stream());
    const [first, ...others] = metadata.files;
    if (!first) throw new Error('no file');
    const wrong: Metadata[] = [
      { archive: 'zip', files: [{ ...first, size: first.size + 1 }, ...others] },
      { archive: 'zip', files: [{ ...first, size: first.size - 1 }, ...others] },
      { archive: 'zip', files: [{ ...first, name: 'b.txt' }, ...others] },
      { archive: 'zip', files: [...others, first] },
      { archive: 'zip', files: [...metadata.files, first] },
    ];
    for (const claim of wrong) await expect(unpackAll(claim, payload)).rejects.toMatchObject({ code: 'tampered' });
    await expect(unpackAll(metadata, payload.subarray(0, 50_000))).rejects.toMatchObject({ code: 'tampered' });
  });
});

test('one file is its own payload', async () => {
  const { metadata, size, stream } = buildPayload([source('a.txt', patterned(1000))]);
  expect(metadata).toEqual({ files: [{ name: 'a.txt', type: 'text/plain', size: 1000 }] });
  expect(size).toBe(1000);
  const payload = await collect(stream());
  expect(payload.equals(patterned(1000))).toBe(true);
  expect(await unpackAll(metadata, payload)).toEqual(new Map([['a.txt', payload]]));
});

test('giving up an archive gives up the file that is being read', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const silent: Source = { name: 'a', size: 10, stream: () => new ReadableStream({ cancel: resolve }) };
  const reader = buildPayload([silent, source('b', patterned(3))])
    .stream()
    .getReader();
  await reader.read();
  const read = reader.read();
  await reader.cancel('enough');
  expect([await promise, (await read).done]).toEqual(['enough', true]);
});

test('an archive cannot have a name that its records cannot hold; a file alone can', () => {
  const long = [source('é'.repeat(32_768), patterned(1))];
  expect(buildPayload(long).metadata.files).toHaveLength(1);
  expect(() => buildPayload([...long, source('b', patterned(1))])).toThrow(
    expect.objectContaining({ code: 'invalid-request' }),
  );
});

test('no file is an error', () => {
  expect(() => buildPayload([])).toThrow(expect.objectContaining({ code: 'invalid-request' }));
});

test.each([-1, 1])('a file that differs from its size by %i byte fails', async (difference) => {
  const content = patterned(50_000 + difference);
  for (const others of [[], [source('b', patterned(3))]]) {
    const changed: Source = { name: 'a', size: 50_000, stream: () => inPieces(content) };
    const { stream } = buildPayload([changed, ...others]);
    await expect(collect(stream())).rejects.toMatchObject({ code: 'bad-source' });
  }
});
