import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Settings that lead to the stores, the same for the service and for the operators' commands. */
const NAMES = /^(DATABASE_|BLOB_DIR|S3_)/;
const fileIn = (dataDir: string) => join(dataDir, 'running-stores.json');

/** While npm start runs, npm run admin finds its stores: their ports and passwords are new or random. For their owner only. */
export function publishStores(dataDir: string, env: NodeJS.ProcessEnv): Disposable {
  const settings = Object.fromEntries(Object.entries(env).filter(([name]) => NAMES.test(name)));
  rmSync(fileIn(dataDir), { force: true }); // a mode counts only for a file that is new
  writeFileSync(fileIn(dataDir), JSON.stringify(settings), { mode: 0o600 });
  return { [Symbol.dispose]: () => rmSync(fileIn(dataDir), { force: true }) };
}

/** Undefined when none runs on that folder. */
export function runningStores(dataDir: string): Record<string, string> | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as Record<string, string>;
  } catch {
    return undefined; // nothing was started there, or not by this user
  }
}
