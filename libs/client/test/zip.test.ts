import { execFileSync, spawnSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 as zlibCrc32 } from 'node:zlib';
import { FILES, FORGED, GENUINE } from '@mayfly/testing/forged-archives';
import { freshFolder } from '@mayfly/testing/stores';
import { makeZip } from 'client-zip';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withUniqueNames, writeArchive } from '../src/archive.ts';
import { crc32 } from '../src/checksum.ts';
import type { Source } from '../src/source.ts';
import { archiveSize, centralRecords, descriptor, dosTime, endRecords, entryStart, localHeader } from '../src/zip.ts';
import { collect, fromHex, inPieces, sha256 } from './bytes.ts';
import { patterned } from './reference.ts';
import vectors from './vectors.ts';

const { written, forged } = vectors.archives;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const hasPython = spawnSync('python3', ['--version']).status === 0;

describe('checksums', () => {
  test('are those of zlib, in one piece and in several, wherever their memory begins', () => {
    const bytes = fc.uint8Array({ maxLength: 100 });
    fc.assert(
      fc.property(bytes, bytes, fc.nat(9), (one, other, skipped) => {
        const whole = Buffer.concat([one, other]);
        expect(crc32(other, crc32(one))).toBe(zlibCrc32(whole));
        expect(crc32(whole.subarray(skipped))).toBe(zlibCrc32(whole.subarray(skipped)));
      }),
    );
    expect(crc32(patterned(100_001))).toBe(zlibCrc32(patterned(100_001)));
  });
});

describe('archives that published senders have made', () => {
  test.each(written)('have these bytes around their files: $name', ({ files, size, records }) => {
    expect(archiveSize(files)).toBe(size);
    const central = centralRecords(files);
    const end = endRecords(files, Buffer.concat(central).length);
    const between = files.map((file, index) => [descriptor(file.size, file.crc), localHeaderOf(files[index + 1])]);
    const directory = [...central, end];
    const ours = [[localHeaderOf(files[0])], ...between.slice(0, -1), [...(between.at(-1) ?? []), ...directory]];
    expect(ours.map((pieces) => hex(Buffer.concat(pieces)))).toEqual(records.map(({ bytes }) => bytes));
    const places = files.map((file, index) => entryStart(files, index) + localHeaderOf(file).length + file.size);
    expect([0, ...places]).toEqual(records.map(({ at }) => at));
  });

  test('the smallest of them is this one, with its files', () => {
    const { files = [], records = [], sha256: expected } = written[0] ?? {};
    const contents = files.map(({ size }) => patterned(size));
    const pieces = records.flatMap(({ bytes }, index) => [fromHex(bytes), contents[index] ?? fromHex('')]);
    expect(sha256(Buffer.concat(pieces))).toBe(expected);
    for (const [index, { crc }] of files.entries()) expect(crc32(contents[index] ?? fromHex(''))).toBe(crc);
  });

  test('were written by client-zip, byte for byte as they are now', async () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    const time = fc.date({ min: new Date(-1e12), max: new Date('2107-12-29'), noInvalidDate: true });
    const files = fc.array(fc.tuple(name, fc.nat(30_000), time), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(files, async (some) => {
        const sources = withUniqueNames(
          some.map(([path, size, modified]) => ({
            name: path,
            size,
            lastModified: modified.getTime(),
            stream: () => inPieces(patterned(size), 7_000),
          })),
        );
        const ours = await collect(writeArchive(sources));
        expect(ours.equals(await collect(makeZip(sources.map(asBefore))))).toBe(true);
        expect(ours.length).toBe(archiveSize(sources));
      }),
      { numRuns: 60 },
    );
  });

  test.skipIf(!hasPython)('are read by other programs, the largest too', async () => {
    await using folder = await freshFolder();
    for (const [index, { files, records }] of written.entries()) {
      const path = join(folder.path, `${index}.zip`);
      await using file = await open(path, 'w'); // with holes where large files would be
      for (const { at, bytes } of records) await file.write(fromHex(bytes), 0, bytes.length / 2, at);
      const script =
        'import sys,zipfile\nfor i in zipfile.ZipFile(sys.argv[1]).infolist(): print(i.filename, i.file_size, i.CRC, i.header_offset)';
      const found = execFileSync('python3', ['-c', script, path], { env: { PATH: process.env.PATH, PYTHONUTF8: '1' } });
      const expected = files.map(
        ({ name, size, crc }, number) => `${name} ${size} ${crc} ${entryStart(files, number)}`,
      );
      expect(found.toString().trim().split('\n')).toEqual(expected);
    }
  });

  function localHeaderOf(file: (typeof written)[number]['files'][number] | undefined): Uint8Array {
    return file ? localHeader(file.name, file.time) : new Uint8Array(0);
  }

  function asBefore(source: Source) {
    const { name, lastModified = 0 } = source;
    return { name, lastModified: new Date(Math.max(Date.UTC(1980, 0, 2), lastModified)), input: source.stream() };
  }
});

test('times that a zip cannot hold become the nearest', () => {
  const dateOf = (timeMs: number) => dosTime(timeMs) >>> 16;
  expect(dateOf(0)).toBe(dateOf(Date.UTC(1980, 0, 2)));
  expect(dateOf(Date.UTC(2200, 0))).toBe(dateOf(Date.UTC(2107, 11, 30)));
  expect(dosTime(new Date(2026, 10, 22, 14, 30, 45).getTime())).toBe(
    (46 * 512 + 11 * 32 + 22) * 2 ** 16 + 14 * 2048 + 30 * 32 + 22,
  );
});

test('the forged archives among the known answers are what an independent implementation makes', () => {
  expect(forged.files).toEqual(FILES.map(({ name, content }) => ({ name, size: content.length })));
  expect(forged.genuine).toBe(hex(GENUINE));
  expect(forged.archives).toEqual(Object.entries(FORGED).map(([name, bytes]) => ({ name, bytes: hex(bytes) })));
});
