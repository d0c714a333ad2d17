import { type Link, type NoteInfo, parseLink } from '@mayfly/client';
import type { Task } from './task.ts';

export function getConfig(_: undefined, { client, signal }: Task) {
  return client.getConfig({ signal });
}

/** Without spending anything: what the service tells about the item, and the metadata of an upload that is open. */
export async function look({ link }: { link: string | Link }, { client, signal }: Task) {
  const parsed = typeof link === 'string' ? parseLink(link) : link;
  return parsed.kind === 'upload' ? client.getInfo(parsed, { signal }) : client.getNote(parsed, { signal });
}

/** Derives the password's key, which takes a while, and asks the service whether it is the right one. */
export function unlock({ link, password }: { link: string; password: string }, { client, signal }: Task) {
  return client.checkPassword(link, password, { signal });
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
