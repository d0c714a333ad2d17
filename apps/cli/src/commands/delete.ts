import { MayflyError } from '@mayfly/client';
import type { Context } from '../context.ts';
import { jsonLine } from '../json-line.ts';
import { findOwnItem, type OwnOptions } from '../own-item.ts';

/** Deletes what was sent from here, or with MAYFLY_OWNER_SECRET from elsewhere. */
export async function remove(context: Context, linkOrId: string, options: OwnOptions) {
  const { terminal, owned, signal } = context;
  const { kind, id, ownerSecret, client, kept } = await findOwnItem(context, linkOrId, options);
  let wasThere = true;
  try {
    await client.remove({ kind, id }, ownerSecret, { signal });
  } catch (error) {
    if (!kept || !(error instanceof MayflyError) || error.code !== 'not-found') throw error;
    wasThere = false;
  }
  await owned.forget(id);
  if (options.json) terminal.print(jsonLine({ kind, id, deleted: wasThere }));
  else terminal.say(wasThere ? 'Deleted.' : 'It was already gone.');
}
