import { formatBytes, formatLimit } from '../format/bytes.ts';
import { formatAbout, formatDuration, formatLater, formatMoment, formatUntil } from '../format/times.ts';

export type Formats = ReturnType<typeof formatsFor>;

/** How values are written in a locale: what the texts in the JSON files name, and pages show by themselves. */
export function formatsFor(locale: string, dir: 'ltr' | 'rtl' = 'ltr') {
  const percent = new Intl.NumberFormat(locale, { style: 'percent' });
  const number = new Intl.NumberFormat(locale);
  const cardinals = new Intl.PluralRules(locale);
  return {
    /** A name that runs the other way does not turn what is around it. */
    text: (value: string) => (dir === 'rtl' ? `\u2068${value}\u2069` : value),
    number: (value: number) => number.format(value),
    percent: (share: number) => percent.format(share),
    bytes: (count: number) => formatBytes(count, locale),
    limit: (count: number) => formatLimit(count, locale),
    duration: (seconds: number) => formatDuration(seconds, locale),
    about: (seconds: number) => formatAbout(seconds, locale),
    later: (seconds: number) => formatLater(seconds, locale),
    moment: (timestamp: string) => formatMoment(timestamp, locale),
    relative: (timestamp: string) => formatUntil(timestamp, locale),
    /** The form for just this number (`=1`), else the one of its category. */
    plural: (count: number, forms: Record<string, string>) =>
      forms[`=${count}`] ?? forms[cardinals.select(count)] ?? forms.other ?? '',
  };
}
