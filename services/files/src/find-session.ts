import { parseId } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { Session } from '@mayfly/store/upload-sessions';
import type { FilesDeps } from './deps.ts';
import { badOwnerToken, sessionEnded, uploadNotFound, uploadSealed } from './errors.ts';
import type { Owner } from './find-upload.ts';

/** The session, or undefined where there is none (any more); 401 for whoever is not its owner, 410 when its time is over. */
export async function findSession(
  { sessions }: Pick<FilesDeps, 'sessions'>,
  { id: idText, ownerToken }: Owner,
): Promise<Session | undefined> {
  const id = parseId(idText);
  const session = id === undefined ? undefined : await sessions.find(id);
  if (!session) return undefined;
  if (!tokenMatches(ownerToken, session.ownerHash)) throw badOwnerToken();
  if (session.hasEnded) throw sessionEnded();
  return session;
}

/** The session of a part: 404 when there is none, 409 when it takes no more. */
export async function findOpenSession(deps: Pick<FilesDeps, 'sessions'>, owner: Owner): Promise<Session> {
  const session = await findSession(deps, owner);
  if (!session) throw uploadNotFound();
  if (session.isSealed) throw uploadSealed();
  return session;
}
