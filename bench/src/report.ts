/** A goal and whether what was measured reaches it. */
export type Verdict = { goal: string; figure: string; isMet: boolean };

/** What a measurement has found: to read, to keep and to judge. */
export type Report = { text: string; figures: unknown; verdicts: Verdict[] };

export function atMost(goal: string, figure: number, limit: number, unit: string): Verdict {
  return { goal: `${goal} at most ${limit} ${unit}`, figure: show(figure), isMet: figure <= limit };
}

export function atLeast(goal: string, figure: number, limit: number): Verdict {
  return { goal: `${goal} at least ${show(limit)}`, figure: show(figure), isMet: figure >= limit };
}

function show(figure: number): string {
  return figure >= 100 ? figure.toFixed(0) : figure.toPrecision(3);
}
