import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { unusedPort } from '@mayfly/local-stores/ports';
import { CannotStart } from '@mayfly/local-stores/problem';
import { type Program, type ProgramOptions, startProgram } from './program.ts';
import { ALLOCATION, NODE_ARGS } from './run-options.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Nothing else of this process reaches a service, but for what the caller passes on. */
const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
const INHERITED = { PATH, HOME, NODE_COMPILE_CACHE, ...ALLOCATION };

const WELL_WITHIN_MS = 60_000;
const LINES_SHOWN = 8;

export type Service = Program & {
  name: string;
  /** Where this machine reaches it. */
  url: string;
};

/** A process of the service: `all`, `gateway`, `files`, `notes` or `janitor`. On a port of its own unless PORT names one. */
export async function startService(
  name: string,
  settings: NodeJS.ProcessEnv,
  { url, ...options }: ProgramOptions & { url?: string } = {},
): Promise<Service> {
  const { HOST = '127.0.0.1', PORT = String(await unusedPort()) } = settings;
  const entry = join(root, 'services', name, 'src/main.ts');
  const program = startProgram(
    process.execPath,
    [...NODE_ARGS, entry],
    { ...INHERITED, ...settings, HOST, PORT },
    options,
  );
  return Object.assign(program, { name, url: url ?? `http://${reachable(HOST)}:${PORT}` });
}

/** Where this machine reaches what listens there. */
function reachable(host: string): string {
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

type Start<S> = (name: string, settings?: Record<string, string>) => Promise<S>;

/** The split shape: a janitor, and so many gateways, each with files and notes of its own. The tables have to be there. */
export async function startSplit<S extends { url: string }>(replicas: number, start: Start<S>) {
  const startReplica = async () => {
    const [files, notes] = await Promise.all([start('files'), start('notes')]);
    const gateway = await start('gateway', { FILES_URL: files.url, NOTES_URL: notes.url });
    return { gateway, files, notes };
  };
  const janitor = await start('janitor');
  return { janitor, replicas: await Promise.all(Array.from({ length: replicas }, startReplica)) };
}

/** Brings the tables up to date, which `all` does by itself and the split shape does not. */
export async function migrateTables(settings: NodeJS.ProcessEnv) {
  const entry = join(root, 'libs/store/src/migrate.ts');
  const program = startProgram(process.execPath, [entry], { ...INHERITED, ...settings });
  await program.exited;
  if (program.child.exitCode !== 0) throw cannotStart('The migration failed.', program);
}

/**
 * Resolves when the service says that it is well, or when it has served for `unwellMs` and not been well: then with the components
 * that are down. Throws CannotStart with the last lines of its log when it has ended, or is neither after a minute.
 */
export async function untilHealthy(service: Service, unwellMs = WELL_WITHIN_MS): Promise<string[]> {
  let unwellSince: number | undefined;
  return untilAnswered(service, `${service.url}/api/health`, (status, body) => {
    if (status === 200) return [];
    unwellSince ??= Date.now();
    return Date.now() - unwellSince > unwellMs ? downIn(body) : undefined;
  });
}

/** Asks until an answer is what is waited for; undefined says that it is not. Throws CannotStart as untilHealthy does. */
export async function untilAnswered<T>(
  service: Service,
  url: string,
  read: (status: number, body: string) => T | undefined,
): Promise<T> {
  let last = 'nothing';
  let ended: string | undefined;
  void service.exited.then((how) => {
    ended = how;
  });
  for (const end = Date.now() + WELL_WITHIN_MS; Date.now() < end; await sleep(50)) {
    if (ended) throw cannotStart(`Mayfly (${service.name}) ${ended}.`, service);
    try {
      const { status, body } = await ask(url);
      last = `${status} ${body}`;
      const found = read(status, body);
      if (found !== undefined) return found;
    } catch {
      // not listening yet
    }
  }
  const waited = `${WELL_WITHIN_MS / 1000} s`;
  throw cannotStart(`Mayfly (${service.name}) is not well after ${waited}: GET ${url} says ${last}`, service);
}

function cannotStart(problem: string, program: Program): CannotStart {
  const lastLines = program.output().trim().split('\n').slice(-LINES_SHOWN);
  return new CannotStart([problem, ...lastLines].join('\n').trim());
}

function downIn(health: string): string[] {
  const { components } = JSON.parse(health) as { components: Record<string, 'ok' | 'down'> };
  return Object.keys(components).filter((name) => components[name] === 'down');
}

/** Without Node's HTTP client, which would be loaded for this alone and stay in memory (14 MB). Decision one-waiting-process. */
async function ask(url: string): Promise<{ status: number; body: string }> {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), timeout: 5_000 });
  socket.once('timeout', () => socket.destroy(new Error('no answer in time')));
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body };
}
