import type { Case } from './case.ts';
import { anywhere } from './cases/anywhere.ts';
import { counting } from './cases/counting.ts';
import { creatingUploads } from './cases/creating-uploads.ts';
import { exhausting } from './cases/exhausting.ts';
import { notes } from './cases/notes.ts';
import { usingUploads } from './cases/using-uploads.ts';
import type { ServerCase, Site } from './site.ts';

const SERVER_CASES: ServerCase[] = [
  ...anywhere,
  ...creatingUploads,
  ...usingUploads,
  ...notes,
  ...counting,
  ...exhausting,
];

/** Each deletes what it has created, whatever became of it. */
export const onSite = (site: Site): Case[] =>
  SERVER_CASES.map(({ section, name, run }) => ({
    section,
    name,
    run: () => run(site).finally(() => site.cleanUp()),
  }));
