import { t } from '../languages/index.ts';
import { problemOf } from '../languages/problem.ts';

/** What a service and a library say of a request, in this page's words. */
const OWN: Record<string, keyof typeof t.requests.problems> = {
  'not-found': 'gone',
  expired: 'ended',
  'used-up': 'full',
  tampered: 'swapped',
};

/** As `problemOf`, for whoever has the link of a request. */
export function requestProblemOf(error: unknown): { code: string; title: string; sentence: string } {
  const found = problemOf(error);
  if (found.code === 'damaged-link') return problemOf('invalid-link');
  const own = OWN[found.code];
  return own ? { code: own, ...t.requests.problems[own] } : found;
}
