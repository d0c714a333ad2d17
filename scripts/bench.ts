import { readArguments, USAGE } from '@mayfly/bench/arguments';
import { bench } from '@mayfly/bench/bench';
import { SCENARIOS } from '@mayfly/bench/scenarios';

// npm run bench: what requests cost, beside references in the same run.

const names = SCENARIOS.map(({ name }) => name);
let given: ReturnType<typeof readArguments> | undefined;
try {
  given = readArguments(process.argv.slice(2), names);
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`); // parseArgs and readArguments throw errors
  process.exitCode = 2;
}
if (given) await bench(given);
