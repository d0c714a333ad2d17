import { SECURITY_HEADERS as OF_ALL_ANSWERS } from '@mayfly/vocabulary/pages';

/**
 * On every public answer: what the API sends is never a page, a script or a frame. A page sets a policy of its own. (HSTS
 * belongs to whoever provides HTTPS in front.)
 */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ...OF_ALL_ANSWERS,
};
