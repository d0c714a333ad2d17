import { MayflyError } from '@mayfly/client';
import { Blocked, blockedProblem } from '../reports/why-gone.ts';
import { NoRoom } from '../saving/no-room.ts';
import { t } from './index.ts';

/** Failures that another try may not meet again. */
const PASSING = new Set(['network', 'unavailable', 'unconfirmed', 'rate-limited', 'not-finished', 'unknown']);

/** Of these nobody needs to know how long the service would wait. */
const AT_ANY_TIME = new Set(['unavailable', 'unconfirmed']);

export function mayPass(error: unknown): boolean {
  return PASSING.has(problemOf(error).code);
}

/** Why something failed, in the reader's language: a few words and a sentence. */
export function problemOf(error: unknown): { code: string; title: string; sentence: string } {
  if (error instanceof Blocked) return blockedProblem(error);
  const code = codeOf(error);
  const { title, sentence } =
    t.problems[Object.hasOwn(t.problems, code) ? (code as keyof typeof t.problems) : 'unknown'];
  const { retryAfterSec, repeatForSec } = error instanceof MayflyError ? error : {};
  const advice = repeatForSec
    ? t.advice.repeatFor({ seconds: repeatForSec })
    : retryAfterSec && !AT_ANY_TIME.has(code) && t.advice.waitFor({ seconds: retryAfterSec });
  return { code, title, sentence: advice ? `${sentence} ${advice}` : sentence };
}

function codeOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (error instanceof NoRoom) return 'no-room';
  return error instanceof MayflyError ? error.code : 'unknown';
}
