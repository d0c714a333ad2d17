/**
 * On every public answer: what the API sends is never a page, a script or a frame. A page sets a policy of its own. (HSTS
 * belongs to whoever provides HTTPS in front.)
 */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};
