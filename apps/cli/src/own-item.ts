import { ID_PATTERN, type Kind, type MayflyClient, parseAddress } from '@mayfly/client';
import { type CommonOptions, type Context, chosenServer, openClient } from './context.ts';
import { CliError } from './exit-codes.ts';
import type { Owned } from './owned.ts';

const ID = new RegExp(`^${ID_PATTERN}$`, 'i');

export type OwnOptions = CommonOptions & { note?: boolean };

export type OwnItem = {
  kind: Kind;
  id: string;
  ownerSecret: string;
  client: MayflyClient;
  /** What is kept of it, when it was sent from here. */
  kept: Owned | undefined;
};

/** What a link or an id means to its owner: what was sent from here, or from elsewhere with MAYFLY_OWNER_SECRET. */
export async function findOwnItem(context: Context, linkOrId: string, options: OwnOptions): Promise<OwnItem> {
  const { terminal, owned, env } = context;
  const link = ID.test(linkOrId.trim()) ? undefined : parseAddress(linkOrId);
  const id = (link?.id ?? linkOrId.trim()).toLowerCase();
  const kept = await owned.find(id);
  const ownerSecret = env.MAYFLY_OWNER_SECRET || kept?.ownerSecret;
  if (!ownerSecret) {
    throw new CliError('not-owner', 'It was not sent from here, and needs its owner secret in MAYFLY_OWNER_SECRET');
  }
  const kind = kept?.kind ?? link?.kind ?? (options.note ? 'note' : 'upload');
  const client = openClient(terminal, kept?.server ?? link?.baseUrl ?? chosenServer(context, options));
  return { kind, id, ownerSecret, client, kept };
}
