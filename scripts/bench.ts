import { readArguments, USAGE } from '@mayfly/bench/arguments';
import { bench } from '@mayfly/bench/bench';
import { ALL_WAYS } from '@mayfly/bench/command-line';
import { SCENARIOS } from '@mayfly/bench/scenarios';
import { CannotStart } from '@mayfly/local-stores/problem';

// npm run bench: what requests cost, beside references in the same run.

const names = SCENARIOS.map(({ name }) => name);
let given: ReturnType<typeof readArguments> | undefined;
try {
  given = readArguments(process.argv.slice(2), (kind) => (kind === 'command-line' ? ALL_WAYS : names));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`); // parseArgs and readArguments throw errors
  process.exitCode = 2;
}
try {
  if (given) await bench(given);
} catch (error) {
  if (!(error instanceof CannotStart)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
