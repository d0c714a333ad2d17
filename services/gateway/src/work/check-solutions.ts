import { type Argon2Parameters, argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import type { Solution } from './challenge.ts';

/** Hashes at a time: 8 MiB and one of the four threads each, which files and names need as well. */
const AT_ONCE = 2;
const MOST_WAITING = 64;
/** Most challenges that are remembered with what was tried; the first is forgotten for a new one. */
const MOST_TRIED = 10_000;
const SALT = Buffer.from('mayfly:work:1');
const BYTES = 4;

const hash = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>;

/** Whether the hash of the whole text is small enough, which takes so many tries on average. Decision work-instead-of-a-wall. */
async function isSolved({ text, memoryKiB, passes, tries }: Solution): Promise<boolean> {
  const parameters = { message: Buffer.from(text), nonce: SALT, memory: memoryKiB, passes };
  const found = await hash('argon2id', { ...parameters, parallelism: 1, tagLength: BYTES });
  return found.readUInt32BE() * tries < 2 ** (8 * BYTES);
}

/**
 * Looks at one solution of each challenge, once, a few at a time and beside the event loop: another one of the same challenge is none,
 * unseen. When too many wait it is none for now. The challenge's signature must have been checked.
 */
export function solutionChecks(check = isSolved) {
  const tried = new Map<string, { text: string; isSolved: Promise<boolean> }>();
  const waiting: (() => void)[] = [];
  let underWay = 0;

  async function inTurn(solution: Solution): Promise<boolean> {
    if (underWay >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
    else underWay += 1;
    try {
      return await check(solution);
    } catch {
      tried.delete(solution.id); // there was no memory for it: it may come again
      return false;
    } finally {
      const next = waiting.shift(); // which takes this one's place
      if (next) next();
      else underWay -= 1;
    }
  }

  return async (solution: Solution): Promise<boolean> => {
    const { id, text } = solution;
    const known = tried.get(id);
    if (known) return known.text === text && known.isSolved;
    if (waiting.length >= MOST_WAITING) return false;
    if (tried.size >= MOST_TRIED) for (const first of tried.keys().take(1)) tried.delete(first);
    const isSolved = inTurn(solution);
    tried.set(id, { text, isSolved });
    return isSolved;
  };
}
