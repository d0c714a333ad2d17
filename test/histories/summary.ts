import type { Operation, Violation } from './checker.ts';
import { NOT_HERE, type Report } from './run-history.ts';

/** What was done, what came of it, and what was broken meanwhile. */
export function summaryOf(reports: Report[]): string {
  const operations = reports.flatMap((report) => report.operations);
  const faults = new Map<string, number>();
  for (const [fault, count] of reports.flatMap((report) => [...report.faults])) {
    faults.set(fault, (faults.get(fault) ?? 0) + count);
  }
  return [
    `${operations.length} operations: ${countsOf(operations.map(({ outcome }) => outcome))}`,
    countsOf(operations.map(({ kind, item }) => `${kind} ${item.split(' ')[0]}`)),
    [...faults].map(([fault, count]) => `${count} x ${fault}`).join(', '),
    ...NOT_HERE,
    `${reports.flatMap(({ violations }) => violations).length} violations`,
  ].join(' | ');
}

const countsOf = (names: string[]) =>
  Object.entries(Object.groupBy(names, (name) => name))
    .map(([name, all]) => `${all?.length} ${name}`)
    .join(', ');

/** A violation with the part of the history that it is about, for people. */
export function describeViolation({ rule, item, operations }: Violation): string {
  const lines = operations.slice(0, 40).map((operation: Operation) => `    ${JSON.stringify(operation)}`);
  return [`  ${rule}: ${item ?? 'all items together'}`, ...lines].join('\n');
}
