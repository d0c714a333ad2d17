import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { CannotStart } from '@mayfly/local-stores/problem';

/** Builds the web app unless it is built, in a process that ends: what builds takes hundreds of megabytes. */
export async function buildInChild(script: string, signal: AbortSignal): Promise<{ folder: string; isNew: boolean }> {
  const child = spawn(process.execPath, [script, '--json'], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], signal });
  const [printed, [code]] = await Promise.all([text(child.stdout as NodeJS.ReadableStream), once(child, 'close')]);
  if (code !== 0) throw new CannotStart('The web app could not be built, see above.');
  return JSON.parse(printed);
}
