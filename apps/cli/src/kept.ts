import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from './exit-codes.ts';
import { makeMissing } from './make-folder.ts';

export type KeptItems<T> = {
  folder: string;
  /** Makes sure that something can be kept, before anything is sent. */
  prepare(): Promise<void>;
  save(item: T): Promise<void>;
  find(id: string): Promise<T | undefined>;
  /** The oldest first. */
  list(): Promise<T[]>;
  forget(id: string): Promise<void>;
};

const ID = /^[0-9a-f-]{36}$/;

/** A file of mode 0600 for each, so that two commands at once never write the same one. `what` names them in a sentence. */
export function keptItems<T extends { id: string; createdAt: string }>(folder: string, what: string): KeptItems<T> {
  const pathOf = (id: string) => join(folder, `${id}.json`);
  const read = async (id: string): Promise<T | undefined> => {
    if (!ID.test(id)) return undefined;
    const text = await readFile(pathOf(id), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as T; // this program wrote it
    } catch (error) {
      throw new CliError('disk', `${pathOf(id)} cannot be read`, error);
    }
  };
  return {
    folder,
    async prepare() {
      const probe = join(folder, `.${randomUUID()}`);
      try {
        await makeMissing(folder, 0o700);
        await writeFile(probe, '', { mode: 0o600 });
        await rm(probe);
      } catch (error) {
        throw new CliError('disk', `${what} cannot be kept in ${folder}, so nothing was sent`, error);
      }
    },
    async save(item) {
      const temporary = join(folder, `.${randomUUID()}`);
      await writeFile(temporary, `${JSON.stringify(item, undefined, 2)}\n`, { mode: 0o600, flush: true });
      await rename(temporary, pathOf(item.id));
    },
    find: (id) => read(id.toLowerCase()),
    async list() {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
      const items = await Promise.all(ids.map(read));
      return items
        .filter((item) => item !== undefined)
        .toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
    },
    forget: (id) => rm(pathOf(id), { force: true }),
  };
}
