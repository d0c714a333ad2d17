import { type MayflyClient, MayflyError } from '@mayfly/client';
import { formatTimeLeft } from '../amounts.ts';
import { type Context, openClient, type SendingOptions } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { printableName } from '../printable.ts';
import { collectSources } from '../sources.ts';
import { listUnfinished, type UnfinishedSend } from '../unfinished.ts';
import { askStored, continueSend } from './continue-send.ts';

/** Goes on with an upload that was interrupted and prints its link. */
export async function resume(context: Context, id: string | undefined, options: SendingOptions) {
  const { terminal, unfinished } = context;
  const all = await listUnfinished(unfinished);
  const found = id === undefined ? all : all.filter((one) => one.id === id.toLowerCase());
  const [send, ...others] = found;
  if (!send)
    throw new CliError(
      'usage',
      id === undefined ? 'There is no unfinished upload' : 'There is no such unfinished upload',
    );
  if (others.length > 0) {
    for (const { id, name, upload } of found) {
      const left = formatTimeLeft(Date.parse(upload.endsAt) - Date.now());
      terminal.say(`${id}  ${left} left  ${printableName(name)}`);
    }
    throw new CliError('usage', 'Which one? mayfly resume ID');
  }
  const client = openClient(terminal, send.upload.baseUrl);
  await continueSend(context, client, send, await filesOf(context, client, send), options);
}

/** The files again; undefined when one is away and none is needed any more. */
async function filesOf({ signal }: Context, client: MayflyClient, send: UnfinishedSend) {
  try {
    return await collectSources(send.paths, () => {}, send.givenName);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const stored = await askStored(client, send, signal);
    if (!stored || stored.storedBytes === stored.totalBytes) return undefined;
    // It may come back, on a disk that is not there at the moment.
    const message = `${error.message}. Once it is there again, the upload can be finished: mayfly resume ${send.id}`;
    throw new MayflyError('bad-source', { message, cause: error });
  }
}
