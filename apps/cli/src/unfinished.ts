import { type Source, type UnfinishedUpload, withUniqueNames } from '@mayfly/client';
import { type KeptItems, keptItems } from './kept.ts';

/** What is kept of an upload until it is done. Unlike what is kept for good, it opens what is sent. */
export type UnfinishedSend = {
  id: string;
  createdAt: string;
  /** Absolute, as they were named. */
  paths: string[];
  /** Instead of the name of the only one of them. */
  givenName?: string | undefined;
  /** Address of the service. */
  server: string;
  name: string;
  expireSec: number;
  maxUses: number;
  /** Of the request that it is for. */
  dropLink?: string | undefined;
  upload: UnfinishedUpload;
};

export type UnfinishedSends = KeptItems<UnfinishedSend>;

export function unfinishedSends(folder: string): UnfinishedSends {
  return keptItems(folder, 'Unfinished uploads');
}

/** Those that can still be finished; the others are forgotten. */
export async function listUnfinished(unfinished: UnfinishedSends): Promise<UnfinishedSend[]> {
  const all = await unfinished.list();
  const isOver = ({ upload }: UnfinishedSend) => Date.parse(upload.endsAt) <= Date.now();
  for (const { id } of all.filter(isOver)) await unfinished.forget(id);
  return all.filter((one) => !isOver(one));
}

/** The latest one of the very same files, by name, size and time, to the same service and for the same request, or for none. */
export async function findUnfinished(
  unfinished: UnfinishedSends,
  { server, files, dropLink }: { server: string; files: Source[]; dropLink?: string | undefined },
): Promise<UnfinishedSend | undefined> {
  const sources = withUniqueNames(files);
  const isSame = ({ upload, ...send }: UnfinishedSend) =>
    send.dropLink === dropLink &&
    addressOf(upload.baseUrl) === addressOf(server) &&
    upload.files.length === sources.length &&
    upload.files.every(({ name, size, lastModified }, index) => {
      const source = sources[index];
      return source?.name === name && source.size === size && source.lastModified === lastModified;
    });
  return (await listUnfinished(unfinished)).findLast(isSame);
}

const addressOf = (server: string) => new URL(server).href.replace(/\/+$/, '');
