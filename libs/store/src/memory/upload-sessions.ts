import { randomUUID } from 'node:crypto';
import {
  bytesOfPart,
  type NewSession,
  partCount,
  type RecordedPart,
  type Session,
  type UploadSessions,
} from '../upload-sessions.ts';
import type { memoryUploads } from './uploads.ts';

type HeldSession = NewSession & {
  endsAt: number;
  sealed?: { seal: string; bytes: number };
  parts: Map<number, RecordedPart>;
};

/** Sessions in a map, of the uploads that are in a map, for unit tests. */
export function memoryUploadSessions(
  uploads: ReturnType<typeof memoryUploads>,
  now: () => number = Date.now,
): UploadSessions {
  const sessions = new Map<string, HeldSession>();
  /** A session goes with its upload. */
  const sessionOf = (id: string) => (uploads.rows.get(id)?.state === 'pending' ? sessions.get(id) : undefined);
  const takes = (session: HeldSession | undefined) =>
    session !== undefined && session.endsAt > now() && session.sealed === undefined;
  const inOrder = (session: HeldSession | undefined) =>
    [...(session?.parts.values() ?? [])].sort((a, b) => a.number - b.number);
  const plain = ({ number, bytes, tag }: RecordedPart) => ({ number, bytes, tag });

  return {
    async begin(upload, session) {
      await uploads.begin(upload, session.sessionSec);
      Object.assign(uploads.rows.get(upload.id) ?? {}, { heldBytes: 0 });
      const endsAt = now() + session.sessionSec * 1000;
      sessions.set(upload.id, { ...session, endsAt, parts: new Map() });
      uploads.refs.set(upload.id, { storeRef: session.storeRef, tries: 0 });
      return new Date(endsAt);
    },
    async find(id) {
      const [session, row] = [sessionOf(id), uploads.rows.get(id)];
      if (!session || !row) return undefined;
      const { parts: _, sealed, sessionSec: __, endsAt, ...rest } = session;
      const facts = { id, mostBytes: row.sizeBytes, ownerHash: row.ownerHash, endsAt: new Date(endsAt) };
      return { ...rest, ...facts, isSealed: sealed !== undefined, hasEnded: endsAt <= now() } satisfies Session;
    },
    async parts(id) {
      return inOrder(sessionOf(id)).map(plain);
    },
    async part(id, number) {
      return sessionOf(id)?.parts.get(number);
    },
    async hold(id, bytes) {
      const row = uploads.rows.get(id);
      if (row?.state !== 'pending') return;
      uploads.assertRoom(bytes);
      row.heldBytes += bytes;
    },
    async letGo(id, bytes) {
      const row = uploads.rows.get(id);
      if (row?.state === 'pending') row.heldBytes = Math.max(row.heldBytes - bytes, 0);
    },
    async record(id, part) {
      const session = sessionOf(id);
      if (!session || !takes(session)) return undefined;
      const replacedTag = session.parts.get(part.number)?.tag;
      session.parts.set(part.number, part);
      return replacedTag === undefined ? {} : { replacedTag };
    },
    async seal(id, lengthBytes) {
      const session = sessionOf(id);
      if (!session || session.endsAt <= now()) return undefined;
      const parts = inOrder(session).map(plain);
      const isWhole =
        parts.length === partCount(lengthBytes, session.partBytes) &&
        parts.every(
          ({ number, bytes }, index) =>
            number === index + 1 && bytes === bytesOfPart(number, lengthBytes, session.partBytes),
        );
      if (!isWhole) return undefined;
      session.sealed ??= { seal: randomUUID(), bytes: lengthBytes };
      return { seal: session.sealed.seal, parts };
    },
    async unseal(id, seal, numbers) {
      const session = sessionOf(id);
      if (session?.sealed?.seal !== seal) return;
      delete session.sealed;
      for (const number of numbers) session.parts.delete(number);
    },
    async publish(id, lengthBytes, meta) {
      const row = uploads.rows.get(id);
      if (row?.state !== 'pending') return row && {};
      if (!sessionOf(id)?.sealed) return undefined;
      const givenBackBytes = row.sizeBytes - lengthBytes;
      row.sizeBytes = lengthBytes;
      row.heldBytes = lengthBytes;
      if (meta) row.meta = meta;
      await uploads.publish(id);
      sessions.delete(id);
      uploads.refs.delete(id);
      return { givenBackBytes };
    },
    async cancel(id) {
      const [session, row] = [sessionOf(id), uploads.rows.get(id)];
      if (!session || !row) return undefined;
      await uploads.abandon(id);
      uploads.refs.set(id, { storeRef: session.storeRef, tries: 1 });
      return { givenBackBytes: row.sizeBytes, storeRef: session.storeRef };
    },
  };
}
