import { type Link, type NoteInfo, parseLink } from '@mayfly/client';
import type { Task } from './task.ts';

export function getConfig(_: undefined, { client, signal }: Task) {
  return client.getConfig({ signal });
}

/** `lease`: of a download that was interrupted, to whose recipient the service tells what it tells nobody else any more. */
export type LookArguments = { link: string | Link; lease?: string | undefined };

/** Without spending anything: what the service tells about the item, and the metadata of an upload that is open. */
export async function look({ link, lease }: LookArguments, { client, signal }: Task) {
  const parsed = typeof link === 'string' ? await parseLink(link) : link;
  return parsed.kind === 'upload' ? client.getInfo(parsed, { lease, signal }) : client.getNote(parsed, { signal });
}

/** How far an upload is that is still being sent; undefined when there is none at this link, or none any more. */
export function getArrival({ link }: { link: string | Link }, { client, signal }: Task) {
  return client.getArrival(link, { signal });
}

export type UnlockArguments = { link: string; password: string; allowPbkdf2: boolean; lease?: string | undefined };

/** Derives the password's key, which takes a while, and asks the service whether it is the right one. `lease`: as for `look`. */
export function unlock({ link, password, allowPbkdf2, lease }: UnlockArguments, { client, signal }: Task) {
  return client.checkPassword(link, password, { allowPbkdf2, lease, signal });
}

/** Nobody waits longer to give something up. */
const END_MS = 5_000;

/** Gives up a download that could be continued. Best effort: it ends by itself. */
export async function endDownload({ link, lease }: { link: string | Link; lease: string }, { client }: Task) {
  await client.endLease(link, lease, { signal: AbortSignal.timeout(END_MS) });
}

/** Tries by itself for so long; then the page asks its reader. */
const VIEW_PATIENCE_SEC = 16;

export type ViewArguments = { link: string | Link; info: NoteInfo; idempotencyKey: string; isRepeat: boolean };

/** Counts one view, however often the page asks with the same key. */
export function viewNote({ link, ...view }: ViewArguments, { client, signal, report }: Task) {
  const onRepeat = () => report({ kind: 'trouble', code: 'unconfirmed', retryAfterSec: undefined });
  return client.viewNote(link, { ...view, signal, onRepeat, patienceSec: VIEW_PATIENCE_SEC });
}

export function remove(
  { kind, id, ownerSecret }: { kind: 'upload' | 'note'; id: string; ownerSecret: string },
  { client, signal }: Task,
) {
  return client.remove({ kind, id }, ownerSecret, { signal });
}
