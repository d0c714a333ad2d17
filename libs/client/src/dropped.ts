import { fromBase64 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { bytes, flag, id, optional, type Reader, record, text, time } from './fields.ts';
import type { Suite } from './hpke.ts';
import { type Address, formatLink } from './link.ts';
import { openSecret, type RequestKeys } from './request-keys.ts';

/** An upload that somebody has dropped into a file request. */
export type Drop = {
  uploadId: string;
  /** ISO 8601, to the minute; absent where the service keeps no times. */
  at?: string;
  /** Encrypted. */
  bytes: number;
  /** False when the upload is used up, has expired or was deleted. */
  available: boolean;
  /** An ordinary link of the upload. Undefined when what was dropped does not open: it was not sealed for this request and this upload. */
  link: string | undefined;
};

/** Contract: GET /api/request/<id>/drops. */
export type StoredDrop = Omit<Drop, 'link'> & { enc: string; sealed: string };

const readDrop = record<StoredDrop>({
  uploadId: id,
  enc: text,
  sealed: text,
  bytes,
  at: optional(time),
  available: flag,
});

export const readDrops: Reader<StoredDrop[]> = (value) => {
  if (!Array.isArray(value)) throw new MayflyError('bad-answer');
  return value.map(readDrop);
};

export async function openDrop(
  suite: Suite,
  keys: RequestKeys,
  { baseUrl, id: requestId }: Address,
  { enc, sealed, ...drop }: StoredDrop,
): Promise<Drop> {
  const [encBytes, sealedBytes] = [fromBase64(enc), fromBase64(sealed)];
  if (!encBytes || !sealedBytes) return { ...drop, link: undefined };
  const { uploadId } = drop;
  try {
    const box = { enc: encBytes, sealed: sealedBytes };
    const secret = await openSecret(suite, keys, { requestId, uploadId }, box);
    return { ...drop, link: await formatLink({ kind: 'upload', baseUrl, id: uploadId, ...secret }) };
  } catch (error) {
    // One that does not open must not hide the others.
    if (error instanceof MayflyError) return { ...drop, link: undefined };
    throw error;
  }
}
