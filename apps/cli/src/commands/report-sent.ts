import { type Created, MayflyError, type PartOptions } from '@mayfly/client';
import type { Context, SendingOptions } from '../context.ts';
import { showProgress } from '../progress.ts';
import { tellTrouble } from '../tell-trouble.ts';
import type { UnfinishedSend } from '../unfinished.ts';
import { deliver } from './deliver.ts';
import { reportCreated } from './report-created.ts';

/** Sends while a line shows how far it is. When that fails, says how to go on with what is kept, which is forgotten once it is of no use. */
export async function whileSending(
  { terminal, unfinished, signal }: Context,
  { parallel }: SendingOptions,
  work: (options: PartOptions) => Promise<Created>,
  { keptId, cancel }: { keptId: () => string | undefined; cancel?: (() => Promise<void>) | undefined },
): Promise<Created> {
  using progress = showProgress(terminal.stderr, 'Sending');
  try {
    const created = await work({
      signal,
      maxParallel: parallel,
      ...tellTrouble(terminal, progress),
    });
    const id = keptId();
    if (id) await unfinished.forget(id);
    return created;
  } catch (error) {
    progress.wipe();
    const id = keptId();
    if (!id) throw error;
    const code = error instanceof MayflyError ? error.code : undefined;
    // Files that have changed cannot finish it; files that are away may come back.
    if (code === 'upload-ended' || (code === 'bad-source' && cancel)) {
      // Best effort: it ends by itself.
      await cancel?.().catch(() => {});
      await unfinished.forget(id);
    } else {
      terminal.say(`It can be finished: mayfly resume ${id}`);
    }
    throw error;
  }
}

/** As for everything that is sent; its time has begun now. What is for a request goes to whoever asked. */
export async function reportSent(
  context: Context,
  created: Created,
  {
    server,
    name,
    expireSec,
    maxUses,
    dropLink,
  }: Pick<UnfinishedSend, 'server' | 'name' | 'expireSec' | 'maxUses' | 'dropLink'>,
  options: SendingOptions & { isAnnounced?: boolean },
) {
  const expiresAt = new Date(Date.now() + expireSec * 1000).toISOString();
  if (dropLink) return deliver(context, created, { server, name, expiresAt, dropLink }, options);
  await reportCreated(context, { ...created, server, name, expiresAt, maxUses }, options);
}
