import type { ColdAnswer } from './fetch-cold.ts';

export type Expected = { status: number; sha256: string; headers: Record<string, string> };

/**
 * Headers that no file of a release comes with: they set state, widen what a service worker sees, load or open something besides, or
 * have browsers tell others which addresses they visit.
 */
const UNWANTED = [
  'set-cookie',
  'service-worker-allowed',
  'clear-site-data',
  'link',
  'refresh',
  'speculation-rules',
  'origin-trial',
  'content-security-policy-report-only',
  'report-to',
  'reporting-endpoints',
  'nel',
];
const MOST_SHOWN = 200;

/** What of an answer is not as it was published, each in a few words that follow the address. Empty when all is. */
export function problemsOf(answer: ColdAnswer, expected: Expected): string[] {
  const { status, headers, sha256 } = answer;
  if (status !== expected.status) return [`answers ${status} instead of ${expected.status}${target(headers)}`];
  const problems = sha256 === expected.sha256 ? [] : [`other bytes: SHA-256 ${sha256} instead of ${expected.sha256}`];
  for (const [name, value] of Object.entries(expected.headers)) {
    const got = headers.get(name);
    if (got === undefined) problems.push(`no header ${name}`);
    else if (got !== value) problems.push(`header ${name}: ${shown(got)} instead of ${shown(value)}`);
  }
  return [...problems, ...UNWANTED.filter((name) => headers.has(name)).map((name) => `unwanted header ${name}`)];
}

function target(headers: Map<string, string>): string {
  const location = headers.get('location');
  return location === undefined ? '' : `, and leads to ${shown(location)}`;
}

function shown(value: string): string {
  return JSON.stringify(value.length > MOST_SHOWN ? `${value.slice(0, MOST_SHOWN)}...` : value);
}
