import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Link, type MayflyClient, MayflyError, parseLink, type UploadInfo } from '@mayfly/client';
import { type CommonOptions, type Context, openClient } from '../context.ts';
import { chooseDestination, type Destination, exists, makeFolder } from '../destination.ts';
import { CliError } from '../exit-codes.ts';
import { unlockLink } from '../passwords.ts';
import { printable } from '../printable.ts';
import { showProgress } from '../progress.ts';
import { saveFiles, saveText } from '../save.ts';

export type GetOptions = CommonOptions & { output?: string; force?: boolean; passwordFile?: string };

const STDOUT = '-';

/** Fetches what a link leads to. Everything that can be found wrong is found before a download or a view is spent. */
export async function get(context: Context, text: string, options: GetOptions) {
  const link = parseLink(text);
  const client = openClient(context.terminal, link.baseUrl);
  return link.kind === 'note'
    ? getNote(context, client, link, options)
    : getUpload(context, client, link, { ...options, output: options.output ?? '.' });
}

async function getUpload(context: Context, client: MayflyClient, link: Link, options: GetOptions & { output: string }) {
  const { terminal, env, signal } = context;
  const info = await client.getInfo(link, { signal });
  const opened = await open(context, client, link, info, options);
  const { metadata } = opened === link ? info : await client.getInfo(opened, { signal });
  if (!metadata) throw new MayflyError('not-finished');

  const destination = options.output === STDOUT ? undefined : await chooseDestination(options.output, metadata);
  const mayReplace = destination ? await askToReplace(context, destination, options) : false;
  if (!destination && terminal.stdout.isTTY && env.TERM !== 'dumb' && metadata.archive) {
    throw new CliError('usage', 'An archive is not written to a terminal: use -o FOLDER or a pipe');
  }
  using progress = showProgress(terminal.stderr, 'Receiving');
  const download = await client.download(opened, { signal, onProgress: progress.onProgress });
  if (!destination) {
    await pipeline(Readable.fromWeb(download.payload as never), terminal.stdout, { end: false }); // typed for Node only
    return;
  }
  const saved = await saveFiles(download, destination, { mayReplace });
  progress[Symbol.dispose]();
  if (options.json) {
    const files = download.metadata.files.map(({ size }, index) => ({ path: saved[index], size }));
    terminal.print(`${JSON.stringify({ kind: 'upload', id: link.id, files })}\n`);
    return;
  }
  for (const path of saved) terminal.print(`${path}\n`);
}

async function open(
  { terminal, env, signal }: Context,
  client: MayflyClient,
  link: Link,
  { hasPassword }: Pick<UploadInfo, 'hasPassword'>,
  { passwordFile }: GetOptions,
): Promise<Link> {
  return hasPassword ? unlockLink(terminal, client, link, { env, file: passwordFile }, signal) : link;
}

async function askToReplace({ terminal }: Context, { existing }: Destination, { force }: GetOptions): Promise<boolean> {
  if (force || existing.length === 0) return force ?? false;
  const [first = ''] = existing;
  const what = existing.length === 1 ? `${first} exists` : `${first} and ${existing.length - 1} more exist`;
  if (!(await terminal.confirm(`${what} already. Replace?`))) {
    const ways = '-o FOLDER saves elsewhere, --force replaces';
    throw new CliError('exists', `${what} already; nothing was downloaded. ${ways}`);
  }
  return true;
}

const ENDINGS = { text: 'txt', code: 'txt', markdown: 'md', password: 'txt', sshkey: 'key' };

async function getNote(context: Context, client: MayflyClient, link: Link, options: GetOptions) {
  const { terminal, signal } = context;
  const info = await client.getNote(link, { signal });
  const opened = await open(context, client, link, info, options);
  const path =
    options.output === undefined || options.output === STDOUT
      ? undefined
      : join(options.output, `note-${link.id.slice(0, 8)}.${ENDINGS[info.contentType] ?? 'txt'}`);
  let mayReplace = false;
  if (path && options.output) {
    await makeFolder(options.output);
    const existing = (await exists(path)) ? [path] : [];
    mayReplace = await askToReplace(context, { folder: options.output, paths: [path], existing }, options);
  }
  const onRepeat = options.json ? undefined : () => terminal.say('The answer did not arrive; trying again ...');
  const { text, contentType, viewCount, maxViews } = await client.viewNote(opened, { info, signal, onRepeat });
  const left = maxViews - viewCount;
  if (path) {
    const saved = await saveText(text, path, { mayReplace });
    terminal.print(
      options.json ? `${JSON.stringify({ kind: 'note', id: link.id, contentType, path: saved })}\n` : `${saved}\n`,
    );
  } else if (options.json) {
    terminal.print(`${JSON.stringify({ kind: 'note', id: link.id, contentType, text, viewCount, maxViews })}\n`);
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
