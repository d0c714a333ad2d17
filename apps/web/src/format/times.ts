const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** `2 days`, `1 hour`: in the largest unit that tells the truth for the options of a service. */
export function formatDuration(seconds: number, language: string): string {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size && (size === 1 || seconds % size === 0)) ?? UNITS[3];
  return inUnits(seconds / size, unit, language);
}

/** About how long: `3 minutes`, never `3 minutes 12 seconds`. */
export function formatAbout(seconds: number, language: string): string {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[3];
  return inUnits(Math.max(Math.round(seconds / size), 1), unit, language);
}

export function formatMoment(timestamp: string, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(timestamp));
}

/** `in 3 hours`. */
export function formatUntil(timestamp: string, language: string, now = Date.now()): string {
  const seconds = Math.max((Date.parse(timestamp) - now) / 1000, 0);
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[3];
  return new Intl.RelativeTimeFormat(language).format(Math.round(seconds / size), unit);
}

function inUnits(count: number, unit: string, language: string): string {
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
