import { jsonOf } from './answer-body.ts';
import { call } from './api.ts';
import type { Context, RequestOptions } from './context.ts';
import { bytes, orNull, record, time } from './fields.ts';
import type { Address } from './link.ts';

/** An announced upload that is not complete. */
export type Arrival = {
  /** Of the encrypted payload. */
  storedBytes: number;
  /** The same; undefined while its sender does not know it. */
  totalBytes: number | undefined;
  /** ISO 8601: it is complete before that, or never. */
  endsAt: string;
};

const readAnswer = record<{ length: number | null; storedBytes: number; endsAt: string }>(
  { length: orNull(bytes), storedBytes: bytes, endsAt: time },
  ({ length, storedBytes }) => length === null || storedBytes <= length,
);

/** Contract: GET /api/arrival/<id>. Undefined when the service knows of no such upload: it may be complete, or have ended. */
export async function getArrival(
  { transport }: Context,
  { baseUrl, id }: Address,
  { signal }: RequestOptions,
): Promise<Arrival | undefined> {
  const answer = await call(transport, `${baseUrl}/api/arrival/${id}`, { method: 'GET', expected: 404, signal });
  if (answer.status === 404) return undefined;
  const { length, storedBytes, endsAt } = await jsonOf(answer, readAnswer, { signal });
  return { storedBytes, totalBytes: length ?? undefined, endsAt };
}
