import { MayflyError } from '@mayfly/client';
import { t } from '../languages/index.ts';
import { NoRoom } from '../saving/no-room.ts';

/** Failures that another try may not meet again. */
const PASSING = new Set(['network', 'unavailable', 'rate-limited', 'not-finished', 'unknown']);

export function mayPass(error: unknown): boolean {
  return PASSING.has(problemOf(error).code);
}

/** Why something failed, in the reader's language: a few words and a sentence. */
export function problemOf(error: unknown): { code: string; title: string; sentence: string } {
  const code = codeOf(error);
  const [title, sentence] = t.problems[code] ?? t.problems.unknown ?? ['', ''];
  const seconds = error instanceof MayflyError ? error.retryAfterSec : undefined;
  return { code, title, sentence: seconds && code !== 'unavailable' ? `${sentence} ${t.waitFor(seconds)}` : sentence };
}

function codeOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (error instanceof NoRoom) return 'no-room';
  return error instanceof MayflyError ? error.code : 'unknown';
}
