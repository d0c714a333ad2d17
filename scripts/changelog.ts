import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

// node scripts/changelog.ts: moves the files of changes into CHANGELOG.md, under the version of the root package.json.

const KINDS = ['added', 'changed', 'fixed', 'security'];
const UNRELEASED = '## Unreleased\n';

export type Change = { kind: string; text: string };

/** One file of changes/: a line with the kind, an empty one, the text. An Error says what is wrong with another. */
export function parseChange(file: string): Change {
  const [kind = '', empty, ...lines] = file.trimEnd().split('\n');
  if (!KINDS.includes(kind)) throw new Error(`the first line is not one of ${KINDS.join(', ')}`);
  if (empty !== '') throw new Error('the second line is not empty');
  const text = lines.join('\n');
  if (!/^[\p{Lu}`]/u.test(text) || !text.endsWith('.')) throw new Error('the text is not a sentence');
  if (/^(?:$|[-#])/m.test(text)) throw new Error('the text is more than one paragraph');
  return { kind, text };
}

/** The changelog with what was unreleased, and these changes, under the version. */
export function released(changelog: string, changes: Change[], version: string, date: string): string {
  const [before = '', after] = changelog.split(UNRELEASED);
  if (after === undefined) throw new Error(`CHANGELOG.md has no ${UNRELEASED.trim()}`);
  const end = after.search(/^## /m);
  const unreleased = end < 0 ? after : after.slice(0, end);
  const groups = KINDS.flatMap((kind) => {
    const title = `### ${kind.replace(/^./, (letter) => letter.toUpperCase())}\n`;
    const written = unreleased.split(title)[1]?.split(/^### /m)[0]?.trim();
    const added = changes
      .filter((change) => change.kind === kind)
      .map(({ text }) => `- ${text.replaceAll('\n', '\n  ')}`);
    const entries = [written, ...added].filter(Boolean);
    return entries.length > 0 ? [`${title}\n${entries.join('\n')}\n`] : [];
  });
  if (groups.length === 0) throw new Error('nothing has changed');
  const earlier = end < 0 ? '' : `\n${after.slice(end)}`;
  return `${before}${UNRELEASED}\n## ${version}, ${date}\n\n${groups.join('\n')}${earlier}`;
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const path = join(root, 'CHANGELOG.md');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const files = globSync('changes/*.md', { cwd: root, exclude: ['changes/README.md'] })
    .sort()
    .map((file) => join(root, file));
  const changes = files.map((file) => parseChange(readFileSync(file, 'utf8')));
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(path, released(readFileSync(path, 'utf8'), changes, version, today));
  for (const file of files) rmSync(file);
}
