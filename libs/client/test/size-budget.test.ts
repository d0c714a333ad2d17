import { gzipSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import { expect, test } from 'vitest';

const KIB = 1024;

test('a page loads at most 16 KB, 12 KB more when it needs argon2id, and 10 KB more to receive files and to send in parts', async () => {
  const input = new URL('../src/index.ts', import.meta.url).pathname;
  const bundle = await rolldown({ input, platform: 'browser', treeshake: true });
  const { output } = await bundle.generate({ format: 'es', minify: true });
  const chunks = output.filter((chunk) => chunk.type === 'chunk');
  const first = new Set<OutputChunk>();
  const add = (chunk: OutputChunk | undefined) => {
    if (!chunk || first.has(chunk)) return;
    first.add(chunk);
    for (const name of chunk.imports) add(chunks.find(({ fileName }) => fileName === name));
  };
  add(chunks.find(({ isEntry }) => isEntry));
  const isArgon2id = ({ moduleIds }: OutputChunk) => moduleIds.some((id) => id.includes('hash-wasm'));
  const bytesOf = (some: OutputChunk[]) => some.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
  const rest = chunks.filter((chunk) => !first.has(chunk) && !isArgon2id(chunk));
  const bytes = [[...first], chunks.filter(isArgon2id), rest].map(bytesOf);
  console.log(`client: ${bytes.join(' + ')} bytes gzipped`);
  expect(bytes[0]).toBeLessThan(16 * KIB);
  expect(bytes[1]).toBeLessThan(12 * KIB);
  // All of receiving is in it since downloads can be continued and read in pieces: whoever sends a small file needs none of it.
  expect(bytes[2]).toBeLessThan(10 * KIB);
  // The browser path has no Node built-in in it.
  for (const { code } of chunks) expect(code).not.toMatch(/["']node:/);
});
