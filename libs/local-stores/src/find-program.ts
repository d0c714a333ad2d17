import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first of these programs that is on the PATH, or in one of the other folders. */
export function findProgram(names: string[], others: string[] = []): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const folder of [...folders, ...others]) {
    for (const name of names) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // not here: the next place
      }
    }
  }
  return undefined;
}
