import { gzipSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import { expect, test } from 'vitest';

const KIB = 1024;

const pathOf = (entry: string) => new URL(`../src/${entry}.ts`, import.meta.url).pathname;
const bytesOf = (some: OutputChunk[]) => some.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
const holds = (part: string) => (chunk: OutputChunk) => chunk.moduleIds.some((id) => id.includes(part));

async function bundleOf(...entries: string[]) {
  const bundle = await rolldown({ input: entries.map(pathOf), platform: 'browser', treeshake: true });
  const { output } = await bundle.generate({ format: 'es', minify: true });
  const chunks = output.filter((chunk) => chunk.type === 'chunk');
  /** What the page loads with an entry. */
  const loadedWith = (entry: string) => {
    const loaded = new Set<OutputChunk>();
    const add = (chunk: OutputChunk | undefined) => {
      if (!chunk || loaded.has(chunk)) return;
      loaded.add(chunk);
      for (const name of chunk.imports) add(chunks.find(({ fileName }) => fileName === name));
    };
    add(chunks.find(({ facadeModuleId }) => facadeModuleId === pathOf(entry)));
    return [...loaded];
  };
  return { chunks, loadedWith };
}

test('a page loads at most 16 KB, 12 KB more when it needs argon2id, and 10 KB more to receive files and to send in parts', async () => {
  const { chunks, loadedWith } = await bundleOf('index');
  const first = loadedWith('index');
  const isArgon2id = holds('hash-wasm');
  const rest = chunks.filter((chunk) => !first.includes(chunk) && !isArgon2id(chunk));
  const bytes = [first, chunks.filter(isArgon2id), rest].map(bytesOf);
  console.log(`client: ${bytes.join(' + ')} bytes gzipped`);
  expect(bytes[0]).toBeLessThan(16 * KIB);
  expect(bytes[1]).toBeLessThan(12 * KIB);
  // All of receiving is in it since downloads can be continued and read in pieces: whoever sends a small file needs none of it.
  expect(bytes[2]).toBeLessThan(10 * KIB);
  // The browser path has no Node built-in in it.
  for (const { code } of chunks) expect(code).not.toMatch(/["']node:/);
});

test('it loads at most 10 KB more for file requests, and 24 KB more where it has no such key encapsulation', async () => {
  const { chunks, loadedWith } = await bundleOf('index', 'file-requests');
  const first = loadedWith('index');
  const isPortable = holds('@noble');
  expect(first.filter((chunk) => holds('hpke')(chunk) || isPortable(chunk))).toEqual([]);
  const bytes = [loadedWith('file-requests').filter((chunk) => !first.includes(chunk)), chunks.filter(isPortable)].map(
    bytesOf,
  );
  console.log(`file requests: ${bytes.join(' + ')} bytes gzipped`);
  expect(bytes[0]).toBeLessThan(10 * KIB);
  expect(bytes[1]).toBeGreaterThan(0);
  expect(bytes[1]).toBeLessThan(24 * KIB);
  for (const { code } of chunks) expect(code).not.toMatch(/["']node:/);
});
