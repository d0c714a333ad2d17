/** What stops the command, as one sentence for the person who typed it. */
export class Problem extends Error {}

export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** Says what is being done, does it, and adds how long it took. */
export async function step(what, work) {
  const start = performance.now();
  process.stderr.write(`${what} ... `);
  try {
    const result = await work();
    say(`${((performance.now() - start) / 1000).toFixed(1)} s`);
    return result;
  } catch (error) {
    say('failed');
    throw error;
  }
}
