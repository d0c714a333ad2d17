import { type Created, MayflyError } from '@mayfly/client';
import { type Context, openRequests } from '../context.ts';
import { jsonLine } from '../json-line.ts';
import type { Owned } from '../owned.ts';
import { showProgress } from '../progress.ts';
import { tellTrouble } from '../tell-trouble.ts';

type Sent = { server: string; name: string; expiresAt: string; dropLink: string };

/** Gives what was uploaded to whoever asked. What the request refuses is deleted again. */
export async function deliver(
  context: Context,
  { kind, id, ownerSecret, link }: Created,
  { server, name, expiresAt, dropLink }: Sent,
  { json }: { json?: boolean },
) {
  const { terminal, owned, signal } = context;
  const requests = await openRequests(terminal, server);
  const item: Owned = { kind, id, server, ownerSecret, name, createdAt: new Date().toISOString(), expiresAt };
  await owned.save(context.config.keepLinks ? { ...item, link } : item);
  using progress = showProgress(terminal.stderr, 'Delivering');
  const { onTrouble } = tellTrouble(terminal, progress);
  const request = await requests.open(dropLink, { signal });
  try {
    await requests.drop(request, { kind, id, ownerSecret, link }, { signal, onTrouble });
  } catch (error) {
    const isRefused = error instanceof MayflyError && (error.status === 404 || error.status === 410);
    if (isRefused) await owned.forget(id); // deleted
    throw error;
  }
  progress.wipe();
  if (json) return terminal.print(jsonLine({ kind: 'drop', id, requestId: request.link.id, expiresAt }));
  terminal.say(`Delivered. To take it back: mayfly delete ${id}`);
}
