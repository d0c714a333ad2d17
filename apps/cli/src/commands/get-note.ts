import { join } from 'node:path';
import type { Link, MayflyClient, NoteContentType } from '@mayfly/client';
import { askToReplace } from '../ask-to-replace.ts';
import type { Context } from '../context.ts';
import { asFile, exists, makeFolder, readPlace } from '../destination.ts';
import { jsonLine } from '../json-line.ts';
import { unlockLink } from '../passwords.ts';
import { printable } from '../printable.ts';
import { saveText } from '../save.ts';
import { type GetOptions, STDOUT } from './get-options.ts';
import { NOTE_TYPES } from './note.ts';

const ENDINGS: Record<NoteContentType, string> = {
  text: 'txt',
  code: 'txt',
  markdown: 'md',
  password: 'txt',
  sshkey: 'key',
};

/** Views a note: prints it, or saves it where `-o` says. */
export async function getNote(context: Context, client: MayflyClient, link: Link, options: GetOptions) {
  const { terminal, signal } = context;
  const info = await client.getNote(link, { signal });
  const opened = info.hasPassword ? await unlockLink(context, client, link, info, options) : link;
  const pathFor = await choosePath(options.output, `note-${link.id.slice(0, 8)}`);
  const mayReplace = pathFor ? await askToReplace(context, await existing(pathFor, info.contentType), options) : false;
  const onRepeat = options.json ? undefined : () => terminal.say('The answer did not arrive; trying again ...');
  const { text, contentType, viewCount, maxViews } = await client.viewNote(opened, { info, signal, onRepeat });
  const left = maxViews - viewCount;
  if (pathFor) {
    const path = pathFor(contentType);
    const saved = await saveText(text, path, { mayReplace });
    terminal.print(options.json ? jsonLine({ kind: 'note', id: link.id, contentType, path: saved }) : `${saved}\n`);
  } else if (options.json) {
    terminal.print(jsonLine({ kind: 'note', id: link.id, contentType, text, viewCount, maxViews }));
  } else if (terminal.stdout.isTTY) {
    terminal.print(`${printable(text)}${text.endsWith('\n') ? '' : '\n'}`);
  } else {
    terminal.print(text);
  }
  if (!options.json)
    terminal.say(
      left === 0 ? 'That was its last view.' : `It can be viewed ${left} more time${left === 1 ? '' : 's'}.`,
    );
}

type PathFor = (contentType: NoteContentType) => string;

/** Undefined for stdout. In a folder the name ends as the note's type says. */
async function choosePath(output: string | undefined, name: string): Promise<PathFor | undefined> {
  if (output === undefined || output === STDOUT) return undefined;
  const { folder, file } = await readPlace(output);
  if (file !== undefined) {
    await asFile({ folder, file });
    return () => file;
  }
  await makeFolder(folder);
  return (contentType) => join(folder, `${name}.${ENDINGS[contentType]}`);
}

/** What is there already, wherever the note may go: its type is not known before it is viewed, but for that of an old link. */
async function existing(pathFor: PathFor, contentType: NoteContentType | undefined): Promise<string[]> {
  const paths = new Set((contentType ? [contentType] : NOTE_TYPES).map(pathFor));
  const found = await Promise.all([...paths].map(async (path) => ((await exists(path)) ? [path] : [])));
  return found.flat();
}
