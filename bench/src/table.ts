import type { Figures } from './measure.ts';
import type { Verdict } from './report.ts';

const HEADINGS = [
  'scenario',
  'target',
  'req/s',
  'MB/s',
  'p50 ms',
  'p99 ms',
  'CPU s/1,000',
  'CPU s/GB',
  'peak MB',
  'CPU s/1,000 of each',
];

/** One line per scenario and target, in columns. */
export function figuresTable(figures: Figures[]): string {
  const rows = figures.map((row) => [
    row.scenario,
    row.target,
    row.requestsPerSec.toFixed(row.requestsPerSec < 10 ? 2 : 0),
    row.megabytesPerSec.toFixed(1),
    row.p50Ms.toFixed(1),
    row.p99Ms.toFixed(1),
    row.cpuPerThousand?.toFixed(3) ?? '-',
    row.cpuPerGigabyte?.toFixed(2) ?? '-',
    mostOf(row.peakMegabytesOf),
    partsOf(row),
  ]);
  return columns([HEADINGS, ...rows]);
}

/** One service by everything else of the same run. */
export function ratiosTable(figures: Figures[], own: string): string {
  const ratio = (one = Number.NaN, other = Number.NaN) =>
    Number.isFinite(one / other) ? (one / other).toFixed(2) : '-';
  const rows = figures
    .filter(({ target }) => target !== own)
    .map((other) => {
      const row = figures.find(({ scenario, target }) => scenario === other.scenario && target === own);
      return [
        other.scenario,
        `${own} / ${other.target}`,
        ratio(row?.requestsPerSec, other.requestsPerSec),
        ratio(row?.cpuPerThousand, other.cpuPerThousand),
      ];
    });
  return columns([['scenario', 'ratio', 'of req/s', 'of CPU'], ...rows]);
}

export function goalsTable(verdicts: Verdict[]): string {
  return columns(verdicts.map(({ goal, figure, isMet }) => [isMet ? 'met' : 'MISSED', figure, goal]));
}

/** Text on the left, figures on the right. */
export function columns(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    return /^[\d.-]/.test(cell) ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}

/** Nothing for a target that is one process. */
function partsOf({ cpuPerThousandOf }: Figures): string {
  const parts = Object.entries(cpuPerThousandOf).map(([name, seconds]) => `${name} ${seconds.toFixed(3)}`);
  return parts.length > 1 ? parts.join(', ') : '';
}

/** The largest, or a dash when nothing could be measured. */
function mostOf(megabytes: Record<string, number>): string {
  const most = Math.max(...Object.values(megabytes));
  return most > 0 ? most.toFixed(0) : '-';
}
