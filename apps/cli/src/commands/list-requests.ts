import { MayflyError } from '@mayfly/client';
import { formatTimeLeft, plural } from '../amounts.ts';
import { type Context, openRequests } from '../context.ts';
import type { KeptRequest } from '../own-request.ts';

/** One line of a list, and the same for programs. */
type Listed = { id: string; status: string; name: string; link: string; facts: object; isOver: boolean };

/** The requests that are kept, with what the service says of each now. `prune` forgets those that are gone. */
export async function listRequests(context: Context, { prune }: { prune: boolean }): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (const kept of await context.requests.list()) listed.push(await askStatus(context, kept));
  if (!prune) return listed;
  for (const { id } of listed.filter(({ isOver }) => isOver)) await context.requests.forget(id);
  return listed.filter(({ isOver }) => !isOver);
}

async function askStatus({ terminal, signal }: Context, kept: KeptRequest): Promise<Listed> {
  const { keepLink, title: name, ...item } = kept;
  const line = { id: kept.id, name, link: keepLink };
  const facts = { kind: 'request', ...item, name, link: keepLink };
  try {
    const status = await (await openRequests(terminal, kept.server)).list(keepLink, { signal });
    const { state, maxDrops, expiresAt, drops, bytesLeft, dropsLeft } = status;
    const left = {
      open: `for ${formatTimeLeft(Date.parse(expiresAt) - Date.now())}`,
      full: 'full',
      expired: 'expired',
    };
    const count = `${drops.length} of ${plural(maxDrops, 'drop')}, ${left[state]}`;
    const known = { status: state, maxDrops, dropsLeft, bytesLeft, drops: drops.map(({ link: _, ...drop }) => drop) };
    return { ...line, status: count, isOver: false, facts: { ...facts, ...known } };
  } catch (error) {
    if (!(error instanceof MayflyError) || error.code === 'aborted') throw error;
    const isOver = error.code === 'not-found' || error.code === 'expired';
    const status = isOver ? 'gone' : 'service not reached';
    return { ...line, status, isOver, facts: { ...facts, status: isOver ? 'gone' : 'unknown' } };
  }
}
