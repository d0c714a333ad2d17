import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asDiskError } from '../save.ts';
import { leaveFolder, ownMark, takeFolder } from './holder.ts';

/** What a download that was stopped needs to go on. None of it opens anything without the link. */
export type PartialRecord = {
  version: 1;
  id: string;
  lease: string;
  /** For so long after its last byte the service keeps the lease. */
  idleSec: number;
  /** Files of the upload that were asked for, by their places in its metadata. */
  indexes: number[];
  position: Position;
  /** Once everything was verified: where the files go, absolute. What is missing has its name already. */
  paths?: string[];
};

/** How much is here: all files before `index`, and of that one so many bytes. */
export type Position = {
  index: number;
  bytes: number;
  /** Of these bytes. */
  crc32: number;
};

/** A record, and when it was written by the clock of the file system. */
export type Kept = { record: PartialRecord; savedMs: number };

/** A folder beside what is received, for this process alone until it is disposed of. */
export type PartialFolder = AsyncDisposable & {
  path: string;
  /** What was saved last; undefined when there is nothing that can be used. */
  read(): Promise<Kept | undefined>;
  save(record: PartialRecord): Promise<void>;
  remove(): Promise<void>;
};

const RECORD = 'record.json';
/** Never through a link, and without waiting for the other end of what is no file. */
const READ_SAFELY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** One that was left behind by a download of this upload; undefined when there is none. `onHeld` hears of each that another process works with. */
export async function findPartialFolder(
  parent: string,
  id: string,
  onHeld = () => {},
): Promise<PartialFolder | undefined> {
  const names = await readdir(parent).catch(() => []); // it may not be there yet
  const own = new RegExp(`^\\.mayfly-${id}(-[\\da-f-]+)?\\.part$`);
  for (const name of names.filter((name) => own.test(name)).toSorted()) {
    const path = join(parent, name);
    // It may be gone again, or not be ours.
    const taken = await isOwn(path)
      .then((isOurs) => (isOurs ? takeFolder(path) : undefined))
      .catch(() => undefined);
    if (taken === 'taken') return asPartialFolder(path, id);
    if (taken === 'held') onHeld();
  }
  return undefined;
}

/** A new one. Where another process has its name, or anything else has, it gets a number. */
export async function createPartialFolder(parent: string, id: string): Promise<PartialFolder> {
  // Found and used like the others, should this process be killed now.
  const made = join(parent, `.mayfly-${id}-${randomUUID()}.part`);
  try {
    await mkdir(made, { mode: 0o700 });
    await writeFile(join(made, await ownMark()), '', { mode: 0o600 });
  } catch (error) {
    throw asDiskError(error);
  }
  for (let number = 1; ; number += 1) {
    const path = join(parent, `.mayfly-${id}${number === 1 ? '' : `-${number}`}.part`);
    try {
      // Never the place of a folder with something in it, and never through a link.
      await rename(made, path);
      return asPartialFolder(path, id);
    } catch (error) {
      if (await isThere(path)) continue;
      await rm(made, { recursive: true, force: true });
      throw asDiskError(error);
    }
  }
}

function asPartialFolder(path: string, id: string): PartialFolder {
  return {
    path,
    read: () => readRecord(path, id),
    async save(record) {
      const temporary = join(path, `${RECORD}.new`);
      await rm(temporary, { force: true }); // a process that was killed may have left it
      await writeFile(temporary, JSON.stringify(record), { mode: 0o600, flag: 'wx', flush: true });
      await rename(temporary, join(path, RECORD));
    },
    remove: () => rm(path, { recursive: true, force: true }),
    // Best effort: it may be gone, and a process that has ended does not hold it.
    [Symbol.asyncDispose]: () => leaveFolder(path).catch(() => {}),
  };
}

/** What others may have made, or may write to, is left alone. */
async function isOwn(path: string): Promise<boolean> {
  const found = await lstat(path);
  if (process.platform === 'win32') return found.isDirectory();
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

const isThere = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Undefined when it is not there, or cannot be one. */
async function readRecord(folder: string, id: string): Promise<Kept | undefined> {
  try {
    await using file = await open(join(folder, RECORD), READ_SAFELY);
    const found = await file.stat();
    const record: unknown = JSON.parse(await file.readFile('utf8'));
    return found.isFile() && isRecord(record) && record.id === id ? { record, savedMs: found.mtimeMs } : undefined;
  } catch {
    return undefined; // it begins anew
  }
}

function isRecord(value: unknown): value is PartialRecord {
  const { version, lease, idleSec, indexes, position, paths } = (value ?? {}) as Partial<PartialRecord>; // every field is looked at below
  const { index, bytes } = position ?? {};
  return (
    version === 1 &&
    /^[\w-]{43}$/.test(String(lease)) &&
    Number.isFinite(idleSec) &&
    Array.isArray(indexes) &&
    indexes.includes(Number(index)) &&
    Number.isSafeInteger(bytes) &&
    Number(bytes) >= 0 &&
    (paths === undefined || (Array.isArray(paths) && paths.length === indexes.length))
  );
}
