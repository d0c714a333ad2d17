import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';

const KIB = 1024;

test('a page loads at most 12 KB, and 12 KB more when it needs argon2id', async () => {
  const input = new URL('../src/index.ts', import.meta.url).pathname;
  const bundle = await rolldown({ input, platform: 'browser', treeshake: true });
  const { output } = await bundle.generate({ format: 'es', minify: true });
  const sizes = output.map((chunk) => {
    const text = chunk.type === 'chunk' ? chunk.code : '';
    return { isEntry: chunk.type === 'chunk' && chunk.isEntry, text, bytes: gzipSync(text, { level: 9 }).length };
  });
  const [entry, ...lazy] = sizes.toSorted((one, other) => Number(other.isEntry) - Number(one.isEntry));
  console.log(`client: ${sizes.map(({ bytes }) => bytes).join(' + ')} bytes gzipped`);
  expect(entry?.bytes).toBeLessThan(12 * KIB);
  expect(lazy.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(12 * KIB);
  // The browser path has no Node built-in in it.
  for (const { text } of sizes) expect(text).not.toMatch(/["']node:/);
});
