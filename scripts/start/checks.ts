import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { portProblem } from '@mayfly/local-stores/ports';
import { CannotStart } from '@mayfly/local-stores/problem';

/** Throws CannotStart when the data folder, or what an earlier start made in it, cannot be written to. */
export function checkFolder(dataDir: string) {
  try {
    makeFolder(dataDir);
    const probe = join(dataDir, `.probe-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
    for (const name of ['postgres', 'redis', 'blobs']) {
      if (existsSync(join(dataDir, name))) accessSync(join(dataDir, name), constants.W_OK);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CannotStart(
      `The data folder ${dataDir} cannot be written to (${code}). Choose another: MAYFLY_DATA_DIR=/some/folder npm start`,
    );
  }
}

/** As with `recursive`, which never returns where a parent exists and takes no folders (/proc). */
function makeFolder(path: string) {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** Where a browser on this machine finds the service. Throws CannotStart when something else is there already. */
export async function checkPort(host: string, port: number): Promise<string> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new CannotStart('PORT must be a port number from 1 to 65535.');
  }
  const problem = await portProblem(port, host);
  const instead = `PORT=${port < 1024 ? 3000 : port + 1} npm start`;
  if (problem === 'EADDRINUSE') {
    throw new CannotStart(`Port ${port} is already in use. Stop what uses it or choose another: ${instead}`);
  }
  if (problem === 'EACCES') throw new CannotStart(`Port ${port} is for root only. Choose another: ${instead}`);
  if (problem) throw new CannotStart(`Nothing can listen on HOST ${host}, port ${port} (${problem}).`);
  const isEverywhere = ['0.0.0.0', '::', '127.0.0.1', 'localhost'].includes(host);
  return `http://${isEverywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
}
