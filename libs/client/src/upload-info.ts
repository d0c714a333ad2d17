import { readUploadInfo } from './answers.ts';
import { callJson, goneReason } from './api.ts';
import type { Context, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import type { Address } from './link.ts';

/** Contract: GET /api/info/<id>. Says which of the two reasons a 410 has. */
export async function getUploadInfo({ transport }: Context, link: Address, { signal }: RequestOptions) {
  const url = `${link.baseUrl}/api/info/${link.id}`;
  return withReason(
    { transport },
    link,
    signal,
    callJson(transport, url, { method: 'GET', read: readUploadInfo, signal }),
  );
}

/** Says which of the two reasons a 410 has, unless it has said so. */
export async function withReason<T>(
  { transport }: Pick<Context, 'transport'>,
  { baseUrl, id }: Address,
  signal: AbortSignal | undefined,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof MayflyError) || error.status !== 410 || error.code === 'download-ended') throw error;
    const reason = await goneReason(transport, `${baseUrl}/api/exists/${id}`, signal);
    throw new MayflyError(reason, { status: 410, cause: error });
  }
}
