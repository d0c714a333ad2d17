import { CliError } from './exit-codes.ts';

const UNIT_SEC = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };
const DURATION = /^(\d+)\s*(s|m|h|d|w)?$/i;

/** `90`, `5m`, `1h`, `1d`, `2w` in seconds. */
export function parseDuration(text: string): number {
  const [, number, unit = 's'] = DURATION.exec(text.trim()) ?? [];
  if (number === undefined) throw new CliError('usage', `"${text}" is not a time: write 30m, 1h, 1d or seconds`);
  return Number(number) * UNIT_SEC[unit.toLowerCase() as keyof typeof UNIT_SEC]; // the pattern lets these through only
}

/** 3600 as `1h`: the largest unit that leaves nothing over. */
export function formatDuration(seconds: number): string {
  const units = Object.entries(UNIT_SEC).toReversed();
  const [unit, size] = units.find(([name, size]) => name !== 'w' && seconds % size === 0) ?? ['s', 1];
  return `${seconds / size}${unit}`;
}

/** How long from now, roughly: `2 days`, `5 minutes`. */
export function formatTimeLeft(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  for (const [name, size] of [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const) {
    if (seconds >= size) return plural(Math.round(seconds / size), name);
  }
  return plural(seconds, 'second');
}

/** The same in few characters: `3 s`, `2 min`. */
export function formatShortTime(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

export function plural(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

const SIZE = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb|tb)?$/i;
const SIZE_UNITS = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

/** `1500000`, `1.5MB`, `2 GB` in bytes, powers of 1,000. */
export function parseBytes(text: string): number {
  const [, number, unit = 'b'] = SIZE.exec(text.trim()) ?? [];
  const bytes = Math.floor(Number(number) * SIZE_UNITS[unit.toLowerCase() as keyof typeof SIZE_UNITS]); // the pattern lets these through only
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new CliError('usage', `"${text}" is not a size: write 500MB, 2GB or bytes`);
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `1.5 MB`: powers of 1,000. */
export function formatBytes(bytes: number): string {
  return inUnits(bytes, Math.round);
}

/** The same of a limit, which is never said to be more than it is. */
export function formatLimit(bytes: number): string {
  return inUnits(bytes, Math.floor);
}

function inUnits(bytes: number, toWhole: (tenths: number) => number): string {
  let unit = 0;
  let tenths = bytes * 10;
  while (toWhole(tenths) >= 10_000 && unit < UNITS.length - 1) {
    tenths /= 1_000;
    unit += 1;
  }
  return `${unit === 0 ? bytes : (toWhole(tenths) / 10).toFixed(1)} ${UNITS[unit]}`;
}

/** `43 %`, never more than is there. */
export function formatShare(doneBytes: number, totalBytes: number): string {
  return `${totalBytes === 0 ? 100 : Math.floor((doneBytes / totalBytes) * 100)} %`;
}

/** A choice that the service offers, or a sentence with all that it offers. */
export function chooseOption(
  wanted: number | undefined,
  options: number[],
  preferred: number,
  { name, format }: { name: string; format: (option: number) => string },
): number {
  if (wanted === undefined) return options.includes(preferred) ? preferred : Math.min(...options);
  if (options.includes(wanted)) return wanted;
  const offered = options.toSorted((one, other) => one - other).map(format);
  throw new CliError('usage', `${name} ${format(wanted)} is not offered by this service; choose ${offered.join(', ')}`);
}

/** The same of a time, in the words of a person. */
export function chooseTime(name: string, text: string | undefined, options: number[], preferred: number): number {
  const wanted = text === undefined ? undefined : parseDuration(text);
  return chooseOption(wanted, options, preferred, { name, format: formatDuration });
}

/** `1 of 3 downloads left, for 5 hours`. */
export function usesLeft(use: string, count: number, of: number, expiresAt: string): string {
  return `${count} of ${plural(of, use)} left, for ${formatTimeLeft(Date.parse(expiresAt) - Date.now())}`;
}
