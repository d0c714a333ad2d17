import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem, say } from './progress.mjs';

const BEAT_MS = 1_000;
/** A holder that was killed does not beat any more. */
const DEAD_AFTER_MS = 10_000;

/** Does the work while no other start in this checkout does the same. */
export async function withLock(root, name, work) {
  const file = join(root, '.cache', `${name}.lock`);
  let hasSaid = false;
  while (!take(root, file)) {
    if (!hasSaid) say(`Waiting for another command that does the same: ${name} ...`);
    hasSaid = true;
    await sleep(200);
  }
  const beat = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // Best effort: the folder may be on its way out, and the work itself will say so.
    }
  }, BEAT_MS);
  const release = () => rmSync(file, { force: true });
  process.once('exit', release); // a signal ends the process inside the work
  try {
    return await work();
  } finally {
    process.off('exit', release);
    clearInterval(beat);
    release();
  }
}

function take(root, file) {
  try {
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST')
      throw new Problem(
        `The folder ${root} cannot be written to (${error.code}), and the dependencies belong into it.`,
      );
  }
  try {
    if (Date.now() - statSync(file).mtimeMs > DEAD_AFTER_MS) rmSync(file, { force: true });
  } catch {
    // it has just been given back
  }
  return false;
}
