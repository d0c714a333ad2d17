import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Plugin } from 'vite';
import { compileCatalogue } from './compile.ts';

const QUERY = '.json?texts';
/** Not an address that ends like a JSON file's: Vite would read it as one. */
const COMPILED = '.json.texts.js';

/** `import texts from './en.json?texts'`: compiled when the app is built. */
export function texts(): Plugin {
  return {
    name: 'texts',
    enforce: 'pre',
    resolveId(source, importer = '') {
      if (!source.endsWith(QUERY)) return undefined;
      return resolve(importer, '..', source.slice(0, -QUERY.length)) + COMPILED;
    },
    load(id) {
      if (!id.endsWith(COMPILED)) return undefined;
      const path = `${id.slice(0, -COMPILED.length)}.json`;
      this.addWatchFile(path);
      return compileCatalogue(JSON.parse(readFileSync(path, 'utf8')));
    },
  };
}
