import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CannotStart } from '@mayfly/local-stores/problem';
import { cpuSeconds, TICKS_PER_SEC } from '@mayfly/testing/proc';

const MOST_SHARE = 0.15;
const FIRST_LOOK_MS = 3_000;
const LOOK_MS = 10_000;

/** Seconds since the start of the machine: of all its processors, of them at work for a program, and at work for what is measured. */
type Look = { total: number; busy: number; own: number };

/** The share of the machine's processors that went to others between two looks; what a hypervisor took counts as theirs. */
export function shareOfOthers(before: Look, after: Look): number {
  const others = after.busy - before.busy - (after.own - before.own);
  return Math.max(others, 0) / (after.total - before.total);
}

/** From the text of /proc/stat. Interrupts are nobody's: most are of what is measured. */
export function readProcessors(stat: string): Omit<Look, 'own'> {
  const [first = ''] = stat.split('\n');
  // What guests take, the last two, is in user and nice already.
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softIrq = 0, steal = 0] = first
    .split(/ +/)
    .slice(1, 9)
    .map((ticks) => Number(ticks) / TICKS_PER_SEC);
  const busy = user + nice + system + steal;
  return { total: busy + idle + wait + irq + softIrq, busy };
}

/**
 * Looks whether other programs take more than 15 % of the machine: now, then throws, and every ten seconds until it is disposed
 * of, then calls `stop` after the second time in a row. With `isAnyway` it only warns. Without Linux it does nothing.
 */
export async function guardMachine(ownPids: number[], isAnyway: boolean, stop: () => void): Promise<Disposable> {
  if (process.platform !== 'linux') return { [Symbol.dispose]: () => {} };
  const look = (): Look => ({ ...readProcessors(readFileSync('/proc/stat', 'utf8')), own: cpuSeconds(ownPids) });
  let before = look();
  /** Undefined while all is well. */
  const problem = () => {
    const now = look();
    const share = shareOfOthers(before, now);
    before = now;
    if (share <= MOST_SHARE) return undefined;
    const percent = [share, MOST_SHARE].map((part) => `${(part * 100).toFixed(0)} %`);
    return `other programs take ${percent[0]} of this machine, and figures are worth something up to ${percent[1]} (--anyway measures all the same)`;
  };
  await sleep(FIRST_LOOK_MS);
  const first = problem();
  if (first && !isAnyway) throw new CannotStart(`Stopped: ${first}`);
  if (first) console.warn(`Warning: ${first}`);
  let inARow = 0;
  const timer = setInterval(() => {
    const found = problem();
    inARow = found ? inARow + 1 : 0;
    if (found) console.warn(`Warning: ${found}`);
    if (inARow < 2 || isAnyway) return;
    console.error('Stopped.');
    stop();
  }, LOOK_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
