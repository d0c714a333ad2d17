import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

const [toBrotli, toGzip] = [promisify(brotliCompress), promisify(gzip)];

/** Writes a `.br` and a `.gz` beside every file of text, so that serving one costs nothing. */
export async function compress(folder: string) {
  const names = globSync('**/*.{css,html,js,json,svg,webmanifest}', { cwd: folder });
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const text = readFileSync(path);
      writeFileSync(`${path}.br`, await toBrotli(text));
      writeFileSync(`${path}.gz`, await toGzip(text, { level: 9 }));
    }),
  );
}
