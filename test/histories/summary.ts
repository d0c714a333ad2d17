import type { Operation, Violation } from './checker.ts';
import type { Report } from './run-history.ts';

/** What was done, what came of it, and what was broken meanwhile. */
export function summaryOf({ operations, faults, violations }: Report): string {
  const outcomes = Object.entries(Object.groupBy(operations, ({ outcome }) => outcome));
  return [
    `${operations.length} operations:`,
    ...outcomes.map(([outcome, all]) => `${all?.length} ${outcome}`),
    `| ${[...faults].map(([fault, count]) => `${count} x ${fault}`).join(', ')}`,
    `| ${violations.length} violations`,
  ].join(' ');
}

/** A violation with the part of the history that it is about, for people. */
export function describeViolation({ rule, item, operations }: Violation): string {
  const lines = operations.slice(0, 40).map((operation: Operation) => `    ${JSON.stringify(operation)}`);
  return [`  ${rule}: ${item ?? 'all items together'}`, ...lines].join('\n');
}
