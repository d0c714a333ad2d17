/** Says what is being done, does it, and adds how long it took and what came out. */
export async function step<T>(
  what: string,
  work: () => Promise<T>,
  result: (value: T) => string = () => '',
): Promise<T> {
  const start = performance.now();
  process.stderr.write(`${what} ... `);
  try {
    const value = await work();
    say(`${((performance.now() - start) / 1000).toFixed(1)} s${result(value)}`);
    return value;
  } catch (error) {
    say('failed');
    throw error;
  }
}

/** Progress goes to standard error: standard output is the service's log, or the tests' result. */
export function say(line: string) {
  process.stderr.write(`${line}\n`);
}
