import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Plugin } from 'vite';
import { compileCatalogue } from './compile.ts';

const QUERY = '.json?texts';
/** A module that is no file, as bundlers mark one; its name does not end like a JSON file's, which Vite would read. */
const COMPILED = /^\0(.*\.json)\.js$/;

/** `import texts from './en.json?texts'`: compiled when the app is built. */
export function texts(): Plugin {
  return {
    name: 'texts',
    enforce: 'pre',
    resolveId(source, importer = '') {
      if (!source.endsWith(QUERY)) return undefined;
      return `\0${resolve(importer, '..', source.slice(0, -'?texts'.length))}.js`;
    },
    load(id) {
      const path = COMPILED.exec(id)?.[1];
      if (path === undefined) return undefined;
      this.addWatchFile(path);
      return compileCatalogue(JSON.parse(readFileSync(path, 'utf8')));
    },
  };
}
