import { withUniqueNames, writeArchive } from './archive.ts';
import type { Context } from './context.ts';
import type { DownloadOptions } from './download-options.ts';
import { download } from './downloads.ts';
import type { Drop } from './dropped.ts';
import { asMayflyError, MayflyError } from './errors.ts';
import { type Link, parseLink } from './link.ts';
import type { FileEntry } from './metadata.ts';
import { openDescription } from './open-description.ts';
import { withProgress } from './payload.ts';
import type { Source } from './source.ts';
import { fromPieces, withErrors } from './streams.ts';
import { type UnpackedFile, unpack } from './unpack.ts';
import { getUploadInfo } from './upload-info.ts';
import { archiveSize, hasZipName } from './zip.ts';

/** What was dropped, as one zip with a folder for each drop. */
export type DropArchive = {
  /** Bytes of the archive. */
  size: number;
  /** What cannot be in it: expired, used up, or not what its description says. */
  leftOut: Drop[];
  /** Begins the download of each drop, which counts, when its turn comes. Fails as a download does, and is not whole then. */
  stream: ReadableStream<Uint8Array>;
};

export type DropArchiveOptions = Pick<
  DownloadOptions,
  'signal' | 'onProgress' | 'patienceMs' | 'onTrouble' | 'downloadLeases'
>;

/** What the folder of a drop is called; `mayfly collect` calls it the same. */
function dropFolder({ uploadId, at }: Pick<Drop, 'uploadId' | 'at'>): string {
  return `${at ? `${at.slice(0, 10)} ` : ''}${uploadId.slice(0, 8)}`;
}

/** Looks at every drop first, which spends nothing. Throws what may pass (`network`, `unavailable`, `rate-limited`), and `not-found` when none is left. */
export async function archiveDrops(
  context: Context,
  drops: Drop[],
  { onProgress, ...options }: DropArchiveOptions,
): Promise<DropArchive> {
  const sources: Source[] = [];
  const leftOut: Drop[] = [];
  for (const drop of drops) {
    const opened = await dropSources(context, drop, options);
    if (opened) sources.push(...opened);
    else leftOut.push(drop);
  }
  if (sources.length === 0) throw new MayflyError('not-found');
  const entries = withUniqueNames(sources);
  const size = archiveSize(entries);
  // What was wrong with a download is worth more than that a source could not be read.
  const why = (error: unknown) => asMayflyError((error as Error).cause ?? error, options.signal);
  return { size, leftOut, stream: withErrors(writeArchive(entries), why).pipeThrough(withProgress(onProgress, size)) };
}

/** One for each file, to be read in their order. Undefined when there is nothing to be had. */
async function dropSources(context: Context, drop: Drop, options: DropArchiveOptions): Promise<Source[] | undefined> {
  if (!drop.available || drop.link === undefined) return undefined;
  try {
    const link = await parseLink(drop.link);
    const { metadata } = await openDescription(context, link, await getUploadInfo(context, link, options), options);
    const named = metadata.files.map((file) => ({ ...file, name: `${dropFolder(drop)}/${insideName(file)}` }));
    if (!named.every(hasZipName)) return undefined;
    const next = filesOf(context, link, options);
    const lastModified = drop.at === undefined ? Date.now() : Date.parse(drop.at);
    return named.map((file) => ({ ...file, lastModified, stream: () => fromPieces(next(), () => {}) }));
  } catch (error) {
    if (error instanceof MayflyError && !PASSING.includes(error.code)) return undefined;
    throw error;
  }
}

const PASSING = ['aborted', 'network', 'unavailable', 'rate-limited', 'bad-answer'];

/** Leads nowhere but into the drop's folder. */
function insideName({ name }: FileEntry): string {
  const parts = name.split(/[/\\]/).filter((part) => !['', '.', '..'].includes(part));
  return parts.join('/') || 'file';
}

/** The content of one file more with each call, under one download that the first of them begins. */
function filesOf(context: Context, link: Link, options: DropArchiveOptions) {
  let files: AsyncGenerator<UnpackedFile, void> | undefined;
  return async function* content() {
    if (!files) {
      const { metadata, payload } = await download(context, link, options);
      files = unpack(metadata, payload);
    }
    const { value } = await files.next();
    if (!value) throw new MayflyError('tampered');
    const reader = value.stream.getReader(); // not every browser iterates over streams
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  };
}
