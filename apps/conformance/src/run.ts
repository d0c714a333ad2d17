import { type Case, Skipped } from './case.ts';

export type Result = {
  section: string;
  name: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped. */
  reason?: string;
  seconds: number;
};

/** Tries one case after the other: a server that is tried also has others to serve. */
export async function run(cases: Case[], tell: (result: Result) => void): Promise<Result[]> {
  const results: Result[] = [];
  for (const { section, name, run } of cases) {
    const start = performance.now();
    const ended = await run().then(
      () => ({ outcome: 'passed' as const }),
      (error: Error) => ({
        outcome: error instanceof Skipped ? ('skipped' as const) : ('failed' as const),
        reason: error.message,
      }),
    );
    const result = { section, name, ...ended, seconds: (performance.now() - start) / 1000 };
    results.push(result);
    tell(result);
  }
  return results;
}

export const count = (results: Result[], outcome: Result['outcome']) =>
  results.filter((result) => result.outcome === outcome).length;
