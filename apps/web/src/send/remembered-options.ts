// The last choices are good for the next time. A password is not among them.

const KEY = 'mayfly-options';

type Kind = 'files' | 'note';
export type Options = { expireSec: number; uses: number };

/** What was chosen last in this browser; undefined when nothing was, or no storage keeps it. */
export function rememberedOptions(kind: Kind): Options | undefined {
  const { expireSec, uses } = readAll()[kind] ?? {};
  return Number.isSafeInteger(expireSec) && Number.isSafeInteger(uses) ? ({ expireSec, uses } as Options) : undefined;
}

export function rememberOptions(kind: Kind, { expireSec, uses }: Options) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...readAll(), [kind]: { expireSec, uses } }));
  } catch {
    // No storage here: the next page begins with the usual ones.
  }
}

/** The largest option that is not above the wish, else the smallest: nothing stays longer than it was meant to where that can be. */
export function preferred(options: number[], wish: number): number {
  const rising = options.toSorted((one, other) => one - other);
  return rising.findLast((option) => option <= wish) ?? rising[0] ?? wish;
}

function readAll(): Partial<Record<Kind, Partial<Options>>> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '') ?? {};
  } catch {
    return {}; // nothing was chosen yet, or storage is switched off
  }
}
