import { ID_PATTERN, type Kind, MayflyError, parseLink } from '@mayfly/client';
import { type CommonOptions, type Context, chosenServer, openClient } from '../context.ts';
import { CliError } from '../exit-codes.ts';

const ID = new RegExp(`^${ID_PATTERN}$`, 'i');

export type DeleteOptions = CommonOptions & { note?: boolean };

/** Deletes what was sent from here, or with MAYFLY_OWNER_SECRET from elsewhere. */
export async function remove(context: Context, linkOrId: string, options: DeleteOptions) {
  const { terminal, owned, signal, env } = context;
  const link = ID.test(linkOrId.trim()) ? undefined : parseLink(linkOrId);
  const id = (link?.id ?? linkOrId.trim()).toLowerCase();
  const item = await owned.find(id);
  const ownerSecret = env.MAYFLY_OWNER_SECRET || item?.ownerSecret;
  if (!ownerSecret) {
    throw new CliError(
      'not-owner',
      'It was not sent from here. With its owner secret in MAYFLY_OWNER_SECRET it can be deleted',
    );
  }
  const kind: Kind = item?.kind ?? link?.kind ?? (options.note ? 'note' : 'upload');
  const client = openClient(terminal, item?.server ?? link?.baseUrl ?? chosenServer(context, options));
  let wasThere = true;
  try {
    await client.remove({ kind, id }, ownerSecret, { signal });
  } catch (error) {
    if (!item || !(error instanceof MayflyError) || error.code !== 'not-found') throw error;
    wasThere = false;
  }
  await owned.forget(id);
  if (options.json) terminal.print(`${JSON.stringify({ kind, id, deleted: wasThere })}\n`);
  else terminal.say(wasThere ? 'Deleted.' : 'It was gone already.');
}
