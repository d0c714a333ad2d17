import { MayflyError, type Usage } from '@mayfly/client';
import { usesLeft } from '../amounts.ts';
import { type CommonOptions, type Context, openClient } from '../context.ts';
import { jsonLine } from '../json-line.ts';
import type { Owned } from '../owned.ts';
import { printableName } from '../printable.ts';
import { listRequests } from './list-requests.ts';

export type ListOptions = CommonOptions & { prune?: boolean };

type Status = 'open' | 'expired' | 'used up' | 'gone' | 'unknown';
type Listed = Owned & { status: Status; usage?: Usage };

/** Requests at once: enough to be quick, too few to be refused. */
const AT_ONCE = 4;

/** What was sent from here, with what the service says of each now. */
export async function list(context: Context, options: ListOptions) {
  const { terminal, owned, signal } = context;
  const items = await owned.list();
  const listed = await mapAtOnce(items, (item) => askStatus(item, openClient(terminal, item.server), signal));
  const isOver = ({ status }: Listed) => status !== 'open' && status !== 'unknown';
  if (options.prune) for (const item of listed.filter(isOver)) await owned.forget(item.id);
  const shown = options.prune ? listed.filter((item) => !isOver(item)) : listed;
  const requests = await listRequests(context, { prune: options.prune ?? false });
  if (options.json) {
    const facts = shown.map(({ ownerSecret: _, usage, ...item }) => ({ ...item, ...usage }));
    return terminal.print(jsonLine([...facts, ...requests.map(({ facts }) => facts)]));
  }
  if (shown.length + requests.length === 0) return terminal.say('Nothing sent from here is left.');
  const sent = shown.map((item) => ({ ...item, status: describeStatus(item) }));
  const rows = [...sent, ...requests];
  const width = Math.max(...rows.map(({ status }) => status.length));
  for (const { id, status, name, link } of rows) {
    terminal.print(`${id}  ${status.padEnd(width)}  ${printableName(name)}\n`);
    if (link) terminal.print(`  ${link}\n`);
  }
}

async function askStatus(item: Owned, client: ReturnType<typeof openClient>, signal: AbortSignal): Promise<Listed> {
  try {
    return { ...item, status: 'open', usage: await client.getUsage(item, { signal }) };
  } catch (error) {
    if (!(error instanceof MayflyError) || error.code === 'aborted') throw error;
    const statuses: Record<string, Status> = { expired: 'expired', 'used-up': 'used up', 'not-found': 'gone' };
    return { ...item, status: statuses[error.code] ?? 'unknown' };
  }
}

function describeStatus({ status, kind, usage }: Listed): string {
  if (!usage) return status === 'unknown' ? 'service not reached' : status;
  const { usedCount, maxUses, expiresAt } = usage;
  return usesLeft(kind === 'note' ? 'view' : 'download', maxUses - usedCount, maxUses, expiresAt);
}

async function mapAtOnce<In, Out>(inputs: In[], work: (input: In) => Promise<Out>): Promise<Out[]> {
  const outputs: Out[] = [];
  for (let start = 0; start < inputs.length; start += AT_ONCE) {
    outputs.push(...(await Promise.all(inputs.slice(start, start + AT_ONCE).map(work))));
  }
  return outputs;
}
