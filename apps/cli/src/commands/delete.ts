import { MayflyError } from '@mayfly/client';
import type { RequestLink } from '@mayfly/client/requests';
import { type Context, openRequests } from '../context.ts';
import { jsonLine } from '../json-line.ts';
import { findOwnItem, type OwnOptions } from '../own-item.ts';
import { findRequest } from '../own-request.ts';

/** Deletes what was sent from here, or with MAYFLY_OWNER_SECRET from elsewhere. */
export async function remove(context: Context, linkOrId: string, options: OwnOptions) {
  const request = await findRequest(context, linkOrId);
  if (request) return removeRequest(context, request, options);
  const { terminal, owned, signal } = context;
  const { kind, id, ownerSecret, client, kept } = await findOwnItem(context, linkOrId, options);
  const wasThere = await wasRemoved(client.remove({ kind, id }, ownerSecret, { signal }), kept);
  await owned.forget(id);
  if (options.json) terminal.print(jsonLine({ kind, id, deleted: wasThere }));
  else terminal.say(wasThere ? 'Deleted.' : 'It was already gone.');
}

/** What was dropped stays until it ends by itself, but nobody can open it any more. */
async function removeRequest(context: Context, link: RequestLink, { json }: OwnOptions) {
  const { terminal, requests, signal } = context;
  const { id, baseUrl } = link;
  const kept = await requests.find(id);
  const fileRequests = await openRequests(terminal, baseUrl);
  const wasThere = await wasRemoved(fileRequests.remove(link, { signal }), kept);
  await requests.forget(id);
  if (json) terminal.print(jsonLine({ kind: 'request', id, deleted: wasThere }));
  else terminal.say(wasThere ? 'Deleted, and with it the only way to open what was sent.' : 'It was already gone.');
}

/** False when what is kept here was gone from the service; of anything else that is an error. */
async function wasRemoved(removing: Promise<unknown>, kept: object | undefined): Promise<boolean> {
  try {
    await removing;
    return true;
  } catch (error) {
    if (!kept || !(error instanceof MayflyError) || error.code !== 'not-found') throw error;
    return false;
  }
}
