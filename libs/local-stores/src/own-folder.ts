import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CannotStart } from './problem.ts';
import { type Identity, identify, isRunning, stopProcess } from './process-identity.ts';

/** Who started the server of a folder, and the server itself once it runs. */
type Record = { owner: Identity; server?: Identity };

const FILE = 'process.json';

export type OwnedFolder = {
  /** Remembers the server, so that a later start can stop it when this process could not. */
  serverIs(pid: number): void;
  release(): void;
};

/**
 * Takes a folder for this process. What a killed start left running there is stopped. Throws CannotStart when the
 * folder's owner is alive: two servers on one folder would destroy it.
 */
export async function ownFolder(folder: string, what: string): Promise<OwnedFolder> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, FILE);
  const owner = identify(process.pid);
  if (!owner) throw new Error('this process has no identity');
  while (!create(file, { owner })) await removeStale(file, folder, what);
  return {
    serverIs: (pid) => {
      const server = identify(pid);
      if (!server) return; // it has ended already, and whoever started it will hear of that
      const next = `${file}.${randomUUID()}`;
      writeFileSync(next, JSON.stringify({ owner, server }));
      renameSync(next, file);
    },
    release: () => rmSync(file, { force: true }),
  };
}

/** False when there is a record already. Linking makes it appear whole or not at all. */
function create(file: string, record: Record): boolean {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, JSON.stringify(record));
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft);
  }
}

async function removeStale(file: string, folder: string, what: string) {
  const text = read(file);
  if (text === undefined) return;
  const record = parse(text);
  if (record && isRunning(record.owner)) {
    throw new CannotStart(`${what} in ${folder} is in use by process ${record.owner.pid}; stop that one first.`);
  }
  if (record?.server && !(await stopServer(record.server))) {
    const { pid } = record.server;
    throw new CannotStart(`${what} in ${folder} is still run by process ${pid}, which cannot be stopped.`);
  }
  // Two starts may clean up at once: only the record that was judged may go, not the other start's new one.
  if (read(file) === text) rmSync(file, { force: true });
}

/** Stops every server whose record lies somewhere below a folder: for what has ended without doing so itself. */
export async function stopServersBelow(folder: string) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(({ name }) => name === FILE);
  const records = files.map((file) => parse(read(join(file.parentPath, FILE)) ?? ''));
  await Promise.all(records.map((record) => record?.server && stopServer(record.server)));
}

function stopServer(server: Identity): Promise<boolean> {
  return stopProcess(server, [
    ['SIGCONT', 0],
    ['SIGINT', 15_000],
    ['SIGKILL', 5_000],
  ]);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Undefined for what a crash left half written. */
function parse(text: string): Record | undefined {
  try {
    return JSON.parse(text) as Record; // nobody else writes this file
  } catch {
    return undefined;
  }
}
