const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** `1.4 MB`, in the locale's way. Decision decimal-sizes: a megabyte has 1,000,000 bytes. */
export function formatBytes(bytes: number, locale: string): string {
  return inUnits(bytes, locale, Math.round);
}

/** What is allowed at most: never more than that. */
export function formatLimit(bytes: number, locale: string): string {
  return inUnits(bytes, locale, Math.floor);
}

function inUnits(bytes: number, locale: string, round: (value: number) => number): string {
  let power = 0;
  let value = round(bytes);
  while (value >= 1000 && power < UNITS.length - 1) {
    power += 1;
    const exact = bytes / 1000 ** power;
    value = round(exact * 10) / 10;
    if (value >= 10) value = round(exact);
  }
  const unitDisplay = power === 0 ? 'long' : 'short';
  return new Intl.NumberFormat(locale, { style: 'unit', unit: UNITS[power] ?? 'byte', unitDisplay }).format(value);
}
