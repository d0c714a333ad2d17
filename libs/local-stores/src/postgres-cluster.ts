import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Place } from './postgres-place.ts';
import { CannotStart } from './problem.ts';

/** One folder for each major version: another version cannot read it and must not try. */
const CLUSTER = '18';
const DRAFT = `${CLUSTER}.new`;
/** In a cluster whose database is there. */
const HAS_DATABASE = 'mayfly-has-database';
/** Of the database and of its user. */
export const NAME = 'mayfly';
// The environment of the caller may hold PGDATA, PGOPTIONS, locales and more that PostgreSQL would listen to.
export const ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

export const clusterIn = (folder: string) => join(folder, CLUSTER);

/** Makes what is missing: the cluster at the first start, and its database where a start was killed before that. Returns its password. */
export async function createCluster(place: Place, isThrowAway: boolean): Promise<string> {
  const { folder } = place;
  const cluster = clusterIn(folder);
  const passwordFile = join(folder, 'password');
  removeDrafts(folder);
  try {
    if (!existsSync(cluster)) await initialize(place, passwordFile, isThrowAway);
    else if (!existsSync(join(cluster, HAS_DATABASE))) await whenReleased(cluster, () => addDatabase(cluster, place));
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: string };
    throw new CannotStart(`PostgreSQL could not create its data in ${folder}: ${(stderr || message).trim()}`, {
      cause,
    });
  }
  return readFileSync(passwordFile, 'utf8').trim();
}

async function initialize({ bin, folder, account }: Place, passwordFile: string, isThrowAway: boolean) {
  writeFileSync(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600, flush: true });
  // Under another name until it is whole: an interrupted start leaves nothing that looks like a cluster.
  const draft = mkdtempSync(join(folder, DRAFT));
  if (account) for (const path of [passwordFile, draft]) chownSync(path, account.uid, account.gid);
  // The locale is PostgreSQL's own C.UTF-8, the same on every system.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${NAME}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const kind = isThrowAway ? '--no-sync' : `--wal-segsize=${logPieceMib(folder)}`;
  const args = [...locale, ...access, `--pgdata=${draft}`, kind];
  await promisify(execFile)(join(bin, 'initdb'), args, { cwd: '/', env: ENVIRONMENT, ...account });
  await addDatabase(draft, { bin, account }, isThrowAway ? ['-F'] : []);
  renameSync(draft, clusterIn(folder));
}

/** What killed starts have left. Their initdb may outlive them for a moment: then a later start removes it. */
function removeDrafts(folder: string) {
  for (const name of readdirSync(folder).filter((name) => name.startsWith(DRAFT))) {
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // it is still being written to, and in nobody's way
    }
  }
}

/** Without a server, and once: later starts need not ask. */
async function addDatabase(cluster: string, { bin, account }: Pick<Place, 'bin' | 'account'>, more: string[] = []) {
  const args = ['--single', '-c', 'exit_on_error=on', '-D', cluster, ...more, 'postgres'];
  const running = promisify(execFile)(join(bin, 'postgres'), args, { cwd: '/', env: ENVIRONMENT, ...account });
  running.child.stdin?.end(`create database ${NAME}\n`);
  try {
    await running;
  } catch (error) {
    if (!String(error).includes(`database "${NAME}" already exists`)) throw error;
  }
  writeFileSync(join(cluster, HAS_DATABASE), '');
}

/** Begins to work on a cluster again while the children of a server that was killed have not noticed yet. */
export async function whenReleased<Result>(cluster: string, begin: () => Promise<Result>): Promise<Result> {
  // The folder is ours and no server of it runs, so the file is stale. Its number may belong to another process by
  // now, and PostgreSQL would then refuse to start.
  rmSync(join(cluster, 'postmaster.pid'), { force: true });
  for (const giveUp = Date.now() + 10_000; ; await sleep(250)) {
    try {
      return await begin();
    } catch (error) {
      if (Date.now() > giveUp || !String(error).includes('pre-existing shared memory block')) throw error;
    }
  }
}

const MIB = 2 ** 20;

export const diskMib = (folder: string) => {
  const { bsize, blocks } = statfsSync(folder);
  return (bsize * blocks) / MIB;
};

/** The log grows by whole pieces, of 16 MiB by default, and PostgreSQL dies where there is no room for the next one. */
const logPieceMib = (folder: string) => (diskMib(folder) < 8_192 ? 4 : 16);
