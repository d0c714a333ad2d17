import { hasPassword, type MayflyClient, MayflyError, type Source } from '@mayfly/client';
import { formatDuration, formatShare, parseDuration, plural } from '../amounts.ts';
import type { Context, SendingOptions } from '../context.ts';
import { findUnfinished, type UnfinishedSend } from '../unfinished.ts';
import { reportSent, whileSending } from './report-sent.ts';

/** What the command line says; undefined where it does not. */
type Said = SendingOptions & {
  resume?: boolean;
  parts?: boolean;
  expires?: string;
  downloads?: number;
  password?: boolean;
  passwordFile?: string;
};

/** Sends the rest of an upload that was interrupted, and prints its link. No files: everything should be stored already. */
export async function continueSend(
  context: Context,
  client: MayflyClient,
  send: UnfinishedSend,
  files: Source[] | undefined,
  options: SendingOptions,
) {
  await context.owned.prepare();
  const created = await whileSending(context, options, (how) => client.resumeUpload(send.upload, files ?? [], how), {
    keptId: () => send.id,
    cancel: files && (() => client.cancelUpload(send.upload)),
  });
  await reportSent(context, created, send, options);
}

/** The unfinished upload of the same files, if that is to be continued. Decision continued-sends. */
export async function chooseUnfinished(
  { terminal, unfinished, signal }: Context,
  client: MayflyClient,
  wanted: { server: string; files: Source[]; dropLink?: string },
  said: Said,
): Promise<UnfinishedSend | undefined> {
  if (said.resume === false || said.parts === false) return undefined;
  const found = await findUnfinished(unfinished, wanted);
  if (!found) return undefined;
  if ((said.password || said.passwordFile) && !(await hasPassword(found.upload))) {
    terminal.say('An upload of the same files stopped, but it has no password; they are sent anew.');
    return undefined;
  }
  const stored = await askStored(client, found, signal);
  if (!stored) {
    await unfinished.forget(found.id);
    if (said.resume) terminal.say('The upload that stopped cannot be continued any more; it is sent anew.');
    return undefined;
  }
  const share = formatShare(stored.storedBytes, stored.totalBytes);
  const terms = differs(found, said) ? ` (its own options apply: ${await termsOf(found)})` : '';
  if (said.resume) {
    terminal.say(`Continuing the upload that stopped at ${share}${terms}.`);
    return found;
  }
  const question = `Continue the upload that stopped at ${share}${terms}?`;
  const isWanted = said.json ? undefined : await terminal.confirm(question, true);
  if (isWanted === undefined) {
    terminal.say(
      `An upload of the same files stopped at ${share}. They are sent anew; --resume continues it, as does: mayfly resume ${found.id}`,
    );
  }
  return isWanted ? found : undefined;
}

/** How much of it is stored; undefined when the service has nothing of it any more. */
export async function askStored(client: MayflyClient, { upload }: UnfinishedSend, signal: AbortSignal) {
  try {
    return await client.getStoredBytes(upload, { signal });
  } catch (error) {
    if (error instanceof MayflyError && error.code === 'upload-ended') return undefined;
    throw error;
  }
}

/** A password that was given now may be another one than that of the upload, which nobody can tell. */
function differs(found: UnfinishedSend, { expires, downloads, password, passwordFile }: Said): boolean {
  return (
    (expires !== undefined && parseDuration(expires) !== found.expireSec) ||
    (downloads !== undefined && downloads !== found.maxUses) ||
    Boolean(password || passwordFile)
  );
}

async function termsOf({ expireSec, maxUses, upload }: UnfinishedSend): Promise<string> {
  const password = (await hasPassword(upload)) ? 'the password that was given then' : 'no password';
  return `${formatDuration(expireSec)}, ${plural(maxUses, 'download')}, ${password}`;
}
