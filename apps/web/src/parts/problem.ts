import { MayflyError } from '@mayfly/client';
import { t } from '../languages/index.ts';

/** Why something failed, in the reader's language: a few words and a sentence. */
export function problemOf(error: unknown): { code: string; title: string; sentence: string } {
  const code = typeof error === 'string' ? error : error instanceof MayflyError ? error.code : 'unknown';
  const [title, sentence] = t.problems[code] ?? t.problems.unknown ?? ['', ''];
  const seconds = error instanceof MayflyError ? error.retryAfterSec : undefined;
  return { code, title, sentence: seconds && code !== 'unavailable' ? `${sentence} ${t.waitFor(seconds)}` : sentence };
}
