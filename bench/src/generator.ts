import { runLoad, runOpenLoop } from './load.ts';
import { limitsOf } from './messages.ts';
import { scenario } from './scenarios.ts';

// Sends requests of a scenario, in a process of its own that does nothing else, for the process that has started it and ends with it:
// a message is a task, and the answer to it what was measured.

/** With `perSec` at that rate, without it as many as are taken. */
export type Task = {
  url: string;
  scenario: string;
  /** The requests are those for this reference, which `url` leads to. */
  reference?: 'http';
  connections: number;
  seconds: number;
  perSec?: number;
};

process.on('message', (task: Task) => {
  run(task).then(
    (measured) => process.send?.({ measured }),
    (error: Error) => process.send?.({ problem: error.message }),
  );
});
process.once('disconnect', () => process.exit(0));

async function run({ url, scenario: name, reference, connections, seconds, perSec }: Task) {
  const { prepare, references, maxRequests } = scenario(name);
  const request = reference ? references[reference] : await prepare(url, await limitsOf(url), false);
  if (!request) throw new Error(`${name} has no request for ${reference}`);
  const load = { url, connections, seconds, request };
  return perSec === undefined ? runLoad({ ...load, maxRequests }) : runOpenLoop({ ...load, perSec });
}
