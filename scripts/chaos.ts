import { parseArgs } from 'node:util';

// npm run chaos: histories of clients while processes and stores fail, checked. test/histories does the work.

const USAGE = `npm run chaos -- [--minutes N] [--seed S] [--shape all|split]
Clients work on a service while its processes are killed and frozen, its clocks are set, its disk fills up and its stores are cut off, a minute for each
seed from S on (a new one unless given), in both shapes in turn unless one is named. Ends with 1 when what they were told contradicts what is there.`;
const options = { minutes: { type: 'string' }, seed: { type: 'string' }, shape: { type: 'string' } } as const;

try {
  const { values } = parseArgs({ options });
  const { minutes = '10', seed = String(Date.now() % 1_000_000), shape } = values;
  const given = { minutes: Number(minutes), seed: Number(seed), shapes: shape ? [shape] : ['all', 'split'] };
  const isRight =
    given.minutes > 0 &&
    Number.isSafeInteger(given.seed) &&
    given.shapes.every((one) => ['all', 'split'].includes(one));
  if (!isRight) throw new Error('These are no minutes, no seed or no shape.');
  process.env.TEST_CHAOS = JSON.stringify(given);
  process.argv.splice(2, Number.POSITIVE_INFINITY, 'test/histories/long.test.ts');
  await import('./test.ts');
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`); // parseArgs throws errors
  process.exitCode = 2;
}
