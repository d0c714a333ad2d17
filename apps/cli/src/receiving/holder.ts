import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

// Who works with a folder is told by the name of an empty file in it. To take the folder is to rename that file, which succeeds for one of several.

const PREFIX = 'held-by-';
const NOBODY = `${PREFIX}nobody`;

/** The name of the file for this process. */
export async function ownMark(): Promise<string> {
  return `${PREFIX}${await identityOf(process.pid)}`;
}

/** `held` when another process has the folder, or took it just now; `unmarked` when nothing tells whose it is. */
export async function takeFolder(folder: string): Promise<'taken' | 'held' | 'unmarked'> {
  const mark = (await readdir(folder)).find((name) => name.startsWith(PREFIX));
  if (mark === undefined) return 'unmarked';
  if (await isAlive(mark)) return 'held';
  return (await renameMark(folder, mark, await ownMark())) ? 'taken' : 'held';
}

export async function leaveFolder(folder: string): Promise<void> {
  await renameMark(folder, await ownMark(), NOBODY);
}

async function renameMark(folder: string, from: string, to: string): Promise<boolean> {
  return rename(join(folder, from), join(folder, to)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

async function isAlive(mark: string): Promise<boolean> {
  if (mark === NOBODY) return false;
  const [pid] = /\d+/.exec(mark) ?? [];
  return mark === `${PREFIX}${await identityOf(Number(pid))}`;
}

/** Tells a process from the one that has its number later; by the number alone where the system does not say when it began. */
async function identityOf(pid: number): Promise<string | undefined> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined; // there is none, or it is no number
  }
  // proc(5): the 22nd field, the 20th after the name of the program, which may hold anything.
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const beganAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return beganAt ? `${pid}-${beganAt}` : `${pid}`;
}
