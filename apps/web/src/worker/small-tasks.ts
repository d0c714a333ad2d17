import { type Link, parseLink } from '@mayfly/client';
import type { Task } from './tasks.ts';

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

export function viewNote({ link }: { link: string | Link }, { client, signal }: Task) {
  return client.viewNote(link, { signal });
}

export function remove(
  { kind, id, ownerSecret }: { kind: 'upload' | 'note'; id: string; ownerSecret: string },
  { client, signal }: Task,
) {
  return client.remove({ kind, id }, ownerSecret, { signal });
}
