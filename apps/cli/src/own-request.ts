import type { RequestLink } from '@mayfly/client/requests';
import { type KeptItems, keptItems } from './kept.ts';

/** A request for files that was made here. Only where the config file says so: whoever has the link reads all that is dropped. */
export type KeptRequest = {
  id: string;
  /** Address of the service. */
  server: string;
  keepLink: string;
  title: string;
  createdAt: string;
  expiresAt: string;
};

export type KeptRequests = KeptItems<KeptRequest>;

export function keptRequests(folder: string): KeptRequests {
  return keptItems(folder, 'Links of requests');
}

/** What the id of a kept request, or a link of one, leads to; undefined when it is neither. */
export async function findRequest({ requests }: { requests: KeptRequests }, linkOrId: string) {
  const kept = await requests.find(linkOrId.trim());
  const text = kept?.keepLink ?? linkOrId;
  return isRequestLink(text) ? parse(text) : undefined;
}

/** Whether it looks like one, damaged or not. */
export function isRequestLink(text: string): boolean {
  return /\/r\/[^/]*\/?$/i.test(URL.parse(text.trim())?.pathname ?? '');
}

async function parse(text: string): Promise<RequestLink> {
  return (await import('@mayfly/client/requests')).parseRequestLink(text);
}
