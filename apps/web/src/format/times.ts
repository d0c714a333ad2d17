const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

const SECONDS = UNITS[3];

/** `2 days`, `1 hour`: in the largest unit that tells the truth for the options of a service. */
export function formatDuration(seconds: number, locale: string): string {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size && (size === 1 || seconds % size === 0)) ?? SECONDS;
  return inUnits(seconds / size, unit, locale);
}

/** About how long: `3 minutes`, never `3 minutes 12 seconds`. */
export function formatAbout(seconds: number, locale: string): string {
  const [unit, size] = largestUnit(seconds);
  return inUnits(Math.max(Math.round(seconds / size), 1), unit, locale);
}

/** About when from now: `in 3 minutes`, in the case that the language needs for it. */
export function formatLater(seconds: number, locale: string): string {
  const [unit, size] = largestUnit(seconds);
  return new Intl.RelativeTimeFormat(locale).format(Math.round(seconds / size), unit);
}

export function formatMoment(timestamp: string, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(timestamp));
}

/** `in 3 hours`. */
export function formatUntil(timestamp: string, locale: string, now = Date.now()): string {
  return formatLater(Math.max((Date.parse(timestamp) - now) / 1000, 0), locale);
}

function largestUnit(seconds: number) {
  return UNITS.find(([, size]) => seconds >= size) ?? SECONDS;
}

function inUnits(count: number, unit: string, locale: string): string {
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
