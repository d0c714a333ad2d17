const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** `1.4 MB`, in the language's way. A megabyte has 1024 * 1024 bytes here, as in the service's settings. */
export function formatBytes(bytes: number, language: string): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log(bytes) / Math.log(1024)), UNITS.length - 1);
  const value = bytes / 1024 ** power;
  const style = { style: 'unit', unit: UNITS[power] ?? 'byte', unitDisplay: power === 0 ? 'long' : 'short' } as const;
  return new Intl.NumberFormat(language, { ...style, maximumFractionDigits: value < 10 && power > 0 ? 1 : 0 }).format(
    value,
  );
}
