import { type Link, type MayflyClient, MayflyError } from '@mayfly/client';
import { askToReplace } from '../ask-to-replace.ts';
import { chooseFiles } from '../chosen-files.ts';
import type { Context } from '../context.ts';
import { chooseDestination, readPlace } from '../destination.ts';
import { jsonLine } from '../json-line.ts';
import { showProgress } from '../progress.ts';
import { type Begin, beginAgain, beginAnew, isEnded, type KeptLease } from '../receiving/begin.ts';
import { createPartialFolder, findPartialFolder, type Kept, type PartialFolder } from '../receiving/partial-folder.ts';
import { placeAll, type Wanted } from '../receiving/place-all.ts';
import { receiveKept } from '../receiving/receive-kept.ts';
import { doneBytes } from '../receiving/written.ts';
import { saveFiles } from '../save.ts';
import { tellTrouble } from '../tell-trouble.ts';
import { type GetOptions, STDOUT } from './get-options.ts';
import { writeToStdout } from './write-to-stdout.ts';

type Options = GetOptions & { output: string };

/** A link, and what speaks to its service. */
type Asked = { context: Context; client: MayflyClient; link: Link; options: Options };

/** Downloads the files of an upload and prints where they are. */
export async function getUpload(context: Context, client: MayflyClient, link: Link, options: Options) {
  if (options.output === STDOUT) return writeToStdout(context, client, link, options);
  const { terminal } = context;
  const saved = await saveUpload(context, client, link, options);
  if (options.json) return terminal.print(jsonLine({ kind: 'upload', id: link.id, files: saved }));
  for (const { path } of saved) terminal.print(`${path}\n`);
}

type Saved = { path: string; size: number }[];

/** Downloads them, or goes on with what the same command has left beside its target. */
export async function saveUpload(context: Context, client: MayflyClient, link: Link, options: Options): Promise<Saved> {
  const asked = { context, client, link, options };
  const { folder: parent } = await readPlace(options.output);
  const sayHeld = () => context.terminal.say('Another mayfly get receives this here; this is a download of its own.');
  await using found = await findPartialFolder(parent, link.id, sayHeld);
  const kept = await found?.read();
  const { indexes: whole = [], paths: unplaced } = kept?.record ?? {};
  if (found && unplaced) {
    const saved = await placeAll(found, { indexes: whole, paths: unplaced, mayReplace: options.force ?? false });
    await found.remove();
    return saved;
  }
  const begin = found && kept ? await beginKept(asked, found, kept) : await beginAnew(context, client, link, options);
  const { metadata, lease } = begin;
  const indexes = chooseFiles(metadata.files, options.only);
  const chosen = { ...metadata, files: indexes.flatMap((index) => metadata.files[index] ?? []) };
  const keptBytes = kept ? doneBytes(metadata.files, kept.record.indexes, kept.record.position) : 0;
  const { folder, paths, existing } = await chooseDestination(options.output, chosen, keptBytes);
  const wanted = { indexes, paths, mayReplace: await askToReplace(context, existing, options) };
  if (lease) {
    await using partial = found ?? (await createPartialFolder(folder, link.id));
    return await receive(asked, { ...begin, lease }, partial, wanted);
  }
  using progress = showProgress(context.terminal.stderr, 'Receiving');
  const how = { signal: context.signal, ...tellTrouble(context.terminal, progress) };
  const saved = await saveFiles(await client.download(begin.link, how), folder, wanted);
  progress.wipe();
  return saved;
}

async function beginKept(asked: Asked, folder: PartialFolder, kept: Kept): Promise<Begin> {
  const { context, client, link, options } = asked;
  try {
    return await beginAgain(context, client, link, kept, options);
  } catch (error) {
    if (error instanceof MayflyError && error.code === 'not-found') await folder.remove();
    if (!isEnded(error)) throw error;
    return beginOver(asked, folder);
  }
}

async function receive(asked: Asked, begin: Begin & { lease: KeptLease }, folder: PartialFolder, wanted: Wanted) {
  const { context, client } = asked;
  try {
    return await receiveKept(context, client, begin, folder, wanted);
  } catch (error) {
    if (!isEnded(error) || !begin.lease.isContinued) throw error;
    const { lease, ...anew } = await beginOver(asked, folder);
    if (!lease) throw error;
    return receiveKept(context, client, { ...anew, lease }, folder, wanted);
  }
}

/** A new download where the service does not go on with the old one: it begins with what the old one has brought. */
async function beginOver({ context, client, link, options }: Asked, folder: PartialFolder): Promise<Begin> {
  const what = 'The download that was stopped cannot be continued any more';
  try {
    const begin = await beginAnew(context, client, link, options);
    const kept = await folder.read();
    const keptBytes = kept ? doneBytes(begin.metadata.files, kept.record.indexes, kept.record.position) : 0;
    // Stopped so early that the service never heard of it: nobody needs to know.
    if (keptBytes > 0) context.terminal.say(`${what}; this is another one.`);
    return begin;
  } catch (error) {
    if (!(error instanceof MayflyError) || !['expired', 'used-up', 'not-found'].includes(error.code)) throw error;
    await folder.remove();
    throw new MayflyError(error.code, {
      message: `${what}, and a new one cannot begin. ${error.message}`,
      cause: error,
    });
  }
}
