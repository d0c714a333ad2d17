import { allowedHost } from '@mayfly/shared/notice-hosts';
import type { Notice } from '@mayfly/store/notices';
import { AddressRefused, type Outgoing, post, type Wire } from './post.ts';
import { type ItemKind, type PushKeys, pushRequest, webhookRequest } from './requests.ts';

/** How an attempt ended. `refused`: nothing was sent, since nothing may go there. `gone`: the receiver wants no more. */
export type Attempt = 'sent' | 'failed' | 'refused' | 'gone';
export type Send = (item: ItemKind, notice: Notice) => Promise<Attempt>;

export type SendDeps = Wire & {
  webhookHosts: string[];
  pushHosts: string[];
  /** Without them browsers are not told. */
  pushKeys?: PushKeys | undefined;
};

/** What a receiver says that will not come back. */
const GONE = { push: [404, 410], webhook: [410] };

/** Sends one notice. It never rejects: why an attempt failed is nobody's to know, since reasons hold addresses. */
export function noticeSender(deps: SendDeps): Send {
  return async (item, notice) => {
    try {
      const outgoing = requestOf(item, notice, deps);
      if (!outgoing) return 'refused';
      const status = await post(outgoing, deps);
      if (status >= 200 && status < 300) return 'sent';
      return GONE[notice.kind].includes(status) ? 'gone' : 'failed';
    } catch (error) {
      return error instanceof AddressRefused ? 'refused' : 'failed';
    }
  };
}

/** Undefined where the settings allow no such request any more. */
function requestOf(item: ItemKind, notice: Notice, deps: SendDeps): Outgoing | undefined {
  if (notice.kind === 'webhook') {
    const isAllowed = allowedHost(notice.hook.url, deps.webhookHosts) !== undefined;
    return isAllowed ? webhookRequest(item, notice, notice.hook) : undefined;
  }
  const isAllowed = allowedHost(notice.hook.endpoint, deps.pushHosts) !== undefined;
  return isAllowed && deps.pushKeys ? pushRequest(item, notice, notice.hook, deps.pushKeys) : undefined;
}
