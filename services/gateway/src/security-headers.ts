import { API_POLICY, SECURITY_HEADERS as OF_ALL_ANSWERS } from '@mayfly/vocabulary/pages';

/** On every public answer. A page sets a policy of its own. (HSTS belongs to whoever provides HTTPS in front.) */
export const SECURITY_HEADERS = {
  'content-security-policy': API_POLICY,
  ...OF_ALL_ANSWERS,
};
