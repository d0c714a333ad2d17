import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { pathOf, readCatalogue, tagOf } from './catalogue.ts';
import { declareCatalogue } from './compile.ts';
import { faultsOf } from './faults.ts';

// Says what is wrong with the texts of the web app, and writes what TypeScript has to know of them.

const english = readCatalogue('en');
const faults = globSync(pathOf('*'))
  .map(tagOf)
  .sort()
  .flatMap((tag) => faultsOf(tag, readCatalogue(tag), english));
for (const fault of faults) console.log(fault);
if (faults.length > 0) process.exit(1);

const declarations = pathOf('en').replace('en.json', 'texts.d.ts');
const fresh = declareCatalogue(english);
if (!existsSync(declarations) || readFileSync(declarations, 'utf8') !== fresh) writeFileSync(declarations, fresh);
