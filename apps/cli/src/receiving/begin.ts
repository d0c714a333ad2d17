import {
  type Content,
  type Link,
  type MayflyClient,
  MayflyError,
  type Metadata,
  newLease,
  type ServiceConfig,
} from '@mayfly/client';
import { findUpload } from '../commands/arriving.ts';
import type { Context } from '../context.ts';
import { type UnlockOptions, unlockLink, withPassword } from '../passwords.ts';
import type { Kept } from './partial-folder.ts';

/** What is shorter is there at once, and has no lease. */
const LEAST_KEPT_BYTES = 256 * 1024;

/** An upload that is to be received; nothing is spent yet. */
export type Begin = {
  metadata: Metadata;
  link: Link;
  /** Absent where the download cannot be continued. */
  lease?: KeptLease;
};

export type KeptLease = {
  lease: string;
  /** The service knows it. */
  isContinued: boolean;
  downloadLeases: NonNullable<ServiceConfig['downloadLeases']>;
};

type Options = UnlockOptions & { wait?: boolean };

/** A new download. */
export async function beginAnew(context: Context, client: MayflyClient, link: Link, options: Options): Promise<Begin> {
  const { signal } = context;
  const { wait } = options;
  const info = await findUpload(context, client, link, wait ? { wait } : {});
  const opened = info.hasPassword ? await unlockLink(context, client, link, info, options) : link;
  const { metadata } = opened === link ? info : await client.getInfo(opened, { signal });
  if (!metadata) throw new MayflyError('not-finished');
  // Best effort: without it a connection that breaks ends the download.
  const { downloadLeases } = await client.getConfig({ signal }).catch(() => ({ downloadLeases: undefined }));
  if (!downloadLeases || info.size <= LEAST_KEPT_BYTES) return { metadata, link: opened };
  return { metadata, link: opened, lease: { lease: newLease(), isContinued: false, downloadLeases } };
}

/** The download that left a folder behind. Throws `download-ended` when the service does not go on with it. */
export async function beginAgain(
  { terminal, env, signal }: Context,
  client: MayflyClient,
  link: Link,
  { record }: Kept,
  { passwordFile: file, allowPbkdf2 }: Options,
): Promise<Begin> {
  const { lease, idleSec } = record;
  const kept = { lease, isContinued: true, downloadLeases: { idleSec } };
  const open = async (opened: Link) => {
    const { metadata }: Content = await client.openContent(opened, { ...kept, allowPbkdf2, signal });
    return { metadata, link: opened, lease: kept };
  };
  try {
    return await open(link);
  } catch (error) {
    if (!(error instanceof MayflyError) || error.code !== 'password-needed') throw error;
    const check = (password: string) => client.checkPassword(link, password, { lease, allowPbkdf2, signal });
    return open(await withPassword(terminal, { env, file }, check));
  }
}

/** Whether the service does not go on with a download. */
export const isEnded = (error: unknown) => error instanceof MayflyError && error.code === 'download-ended';
