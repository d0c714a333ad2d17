import { CommanderError } from 'commander';
import { describeFailure, exitCode, type Failure, USAGE } from './exit-codes.ts';
import { jsonLine } from './json-line.ts';
import { printable } from './printable.ts';

/** Whether JSON is asked for, also by a command line that is wrong. */
export function wantsJson(args: string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).includes('--json');
}

/** What commander has found wrong, for a script. */
function describeUsage({ code, message }: CommanderError): Failure {
  if (code === 'commander.help') return { code: 'usage', message: 'Which command? mayfly --help lists them' };
  return { code: 'usage', message: message.replace(/^error: (.)/, (_, first: string) => first.toUpperCase()) };
}

/** Says on stderr why a command has ended, and returns its exit code. */
export function tellFailure(error: unknown, stderr: { write: (text: string) => unknown }, isJson: boolean): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0; // it has shown the help that was asked for
    if (isJson) stderr.write(jsonLine({ error: describeUsage(error) })); // else commander has said what is wrong
    return USAGE;
  }
  const failure = describeFailure(error);
  const { message, retryAfterSec } = failure;
  const wait = retryAfterSec === undefined ? '' : `; try again in ${retryAfterSec} s`;
  stderr.write(isJson ? jsonLine({ error: failure }) : `${printable(`mayfly: ${message}${wait}`)}\n`);
  return exitCode(failure);
}
