import { SHARE_PATTERN } from '@mayfly/shared/fields';

const SHARE = new RegExp(SHARE_PATTERN);

/** In a request of the contract, which knows of no shares: what is none is a field like any other that is ignored. Contract 13. */
export function shareIn(value: unknown): string | undefined {
  return typeof value === 'string' && SHARE.test(value) ? value : undefined;
}

/** Said to whoever has sent a share, and to nobody else: a service of before would have dropped it. Contract 13. */
export const isSealed = (share: string | undefined) => (share === undefined ? {} : { isSealed: true as const });
