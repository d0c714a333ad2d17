import { readUploadInfo, type UploadInfo } from './answers.ts';
import { callJson } from './api.ts';
import type { Context, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { LeasedPayload } from './leased-payload.ts';
import type { Address, Link } from './link.ts';
import { type Opened, openDescription } from './open-description.ts';
import { openLink } from './open-link.ts';
import { Places } from './places.ts';
import type { GivenPassword } from './protection.ts';
import { getUploadInfo } from './upload-info.ts';

export type LeaseOptions = RequestOptions &
  GivenPassword & {
    lease: string;
    isContinued?: boolean | undefined;
  };

export type OpenedLease = Opened & { link: Link; payload: LeasedPayload; places: Places };

/**
 * What a download under a lease begins with; nothing is spent. An upload that is used up or has expired since is opened by whoever has a lease,
 * `download-ended` when it has ended.
 */
export async function openLease(
  context: Context,
  link: Link,
  { lease, isContinued, signal, ...given }: LeaseOptions,
): Promise<OpenedLease> {
  const { info, isLeased } = await getInfo(context, link, { lease, isContinued, signal });
  const opened = await openLink(context, link, info, { ...given, signal, ...(isLeased ? { lease } : {}) });
  const description = await openDescription(context, opened, info, { signal });
  const { authToken } = description.keys;
  const payload = new LeasedPayload(context, {
    ...link,
    authToken,
    sizeBytes: info.size,
    lease,
    isContinued: isLeased,
  });
  return { ...description, link: opened, payload, places: new Places(description.metadata, info.size) };
}

/** Contract: GET /api/info/<id>; GET /api/lease/<id>/info where it may be over for everybody else. */
async function getInfo(
  context: Context,
  link: Link,
  options: Pick<LeaseOptions, 'lease' | 'isContinued' | 'signal'>,
): Promise<{ info: UploadInfo; isLeased: boolean }> {
  if (options.isContinued) return { info: await getLeasedInfo(context, link, options), isLeased: true };
  try {
    return { info: await getUploadInfo(context, link, options), isLeased: false };
  } catch (error) {
    if (!(error instanceof MayflyError) || error.status !== 410) throw error;
    const info = await getLeasedInfo(context, link, options).catch((refusal) => {
      throw refusal.code === 'download-ended' ? error : refusal; // it never began
    });
    return { info, isLeased: true };
  }
}

/** Contract: GET /api/lease/<id>/info. `download-ended` when there is no such lease any more. */
export function getLeasedInfo(
  { transport }: Context,
  { baseUrl, id }: Address,
  { lease, signal }: Pick<LeaseOptions, 'lease' | 'signal'>,
): Promise<UploadInfo> {
  const headers = { 'X-Download-Lease': lease };
  return callJson(transport, `${baseUrl}/api/lease/${id}/info`, {
    method: 'GET',
    headers,
    read: readUploadInfo,
    signal,
  });
}
