import { invalidRequest } from '@mayfly/shared/errors';
import { PartsGone, PartsRefused } from '@mayfly/store/blob-parts';
import { bytesOfPart, partCount, type Session } from '@mayfly/store/upload-sessions';
import type { EncryptedMeta } from '@mayfly/store/uploads';
import type { FilesDeps } from './deps.ts';
import { PartsMissing, sessionEnded, uploadNotFound } from './errors.ts';
import { rangesOf } from './ranges.ts';

/** `givenBackBytes` until somebody has taken them: the answer that tells of them is one. */
export type Completed = { givenBackBytes: number | undefined };

type Wanted = { lengthBytes: number; meta: EncryptedMeta | undefined };

const WRONG_LENGTH = { length: ['must be that of all parts together'] };

/**
 * Puts uploads together. Each step can be done again by anybody, whoever was killed in the middle: no more parts are taken, the blob
 * store makes one payload of them, and it becomes available together with its description. Those who ask for the same in this process
 * share the work.
 */
export function openCompletions({ sessions, blobs, logger, funnel }: FilesDeps) {
  const running = new Map<string, Promise<Completed>>();

  return function complete(session: Session, wanted: Wanted): Promise<Completed> {
    const key = `${session.id} ${wanted.lengthBytes}`;
    const known = running.get(key);
    if (known) return known;
    const work = doComplete(session, wanted).finally(() => running.delete(key));
    running.set(key, work);
    // Whoever has asked may have been told to come again.
    work.catch((err: unknown) => logger.debug({ err }, 'an upload was not completed'));
    return work;
  };

  async function doComplete(session: Session, { lengthBytes, meta }: Wanted): Promise<Completed> {
    const { id, storeRef } = session;
    const sealed = await sessions.seal(id, lengthBytes);
    if (!sealed) return whyNot(session, lengthBytes);
    try {
      await blobs.parts.complete(id, storeRef, sealed.parts);
    } catch (error) {
      if (error instanceof PartsGone) throw sessionEnded(); // the store has forgotten it
      if (!(error instanceof PartsRefused)) throw error;
      await sessions.unseal(id, sealed.seal, error.numbers);
      throw new PartsMissing(rangesOf(error.numbers));
    }
    const published = await sessions.publish(id, lengthBytes, meta);
    if (!published) throw sessionEnded();
    if (published.givenBackBytes !== undefined) funnel('finished');
    return { givenBackBytes: published.givenBackBytes };
  }

  /** It may have been completed a moment ago; else something is missing, or too much. */
  async function whyNot({ id, partBytes }: Session, lengthBytes: number): Promise<Completed> {
    const parts = await sessions.parts(id); // before the session is: whoever completes it takes both away
    const now = await sessions.find(id);
    if (!now) {
      if (await sessions.publish(id, lengthBytes)) return { givenBackBytes: undefined };
      throw uploadNotFound();
    }
    if (now.hasEnded) throw sessionEnded();
    const stored = new Map(parts.map(({ number, bytes }) => [number, bytes]));
    const numbers = Array.from({ length: partCount(lengthBytes, partBytes) }, (_, index) => index + 1);
    const missing = numbers.filter((number) => stored.get(number) !== bytesOfPart(number, lengthBytes, partBytes));
    throw missing.length > 0 ? new PartsMissing(rangesOf(missing)) : invalidRequest(WRONG_LENGTH);
  }
}
