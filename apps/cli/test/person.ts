import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { FakePartsService } from '@mayfly/testing/fake-parts-service';
import { freshFolder } from '@mayfly/testing/stores';
import { CommanderError } from 'commander';
import { afterAll, beforeEach } from 'vitest';
import { describeFailure, exitCode, USAGE } from '../src/exit-codes.ts';
import { keptRequests } from '../src/own-request.ts';
import { ownedItems } from '../src/owned.ts';
import { buildProgram } from '../src/program.ts';
import type { Streams, Terminal } from '../src/terminal.ts';
import { unfinishedSends } from '../src/unfinished.ts';

/** What there is to send: nine parts, since the service takes at most fifteen segments in one. */
export const CONTENT = randomBytes(8_000_000);

/** A part comes in some sixteen pieces. */
const TURNS = 100;

export type Person = {
  /** What is answered to a question of yes or no; undefined: there is nobody. */
  answer?: boolean;
  signal?: AbortSignal;
  stdin?: Buffer;
  /** Whether messages and progress go to a terminal. */
  isTTY?: boolean;
  /** Instead of waiting. */
  sleep?: (ms: number) => Promise<void>;
  /** Called when something was printed. */
  onPrint?: () => void;
};

export type Outcome = { code: number; out: string; err: string; asked: string[] };

/** A folder with a file, a service that keeps parts, and the command line in this process, with somebody in front of it. */
export async function openDesk() {
  await using undo = new AsyncDisposableStack();
  const service = new FakePartsService();
  const { path: folder } = undo.use(await freshFolder());
  const file = join(folder, 'data');
  const { baseUrl } = undo.use(await service.listen());
  const unfinished = unfinishedSends(join(folder, 'mayfly/unfinished'));

  async function run(args: string[], person: Person = {}): Promise<Outcome> {
    const outcome: Outcome = { code: 0, out: '', err: '', asked: [] };
    const { signal = new AbortController().signal, sleep: wait = (ms) => sleep(ms, undefined, { signal }) } = person;
    const say = (text: string) => {
      outcome.err += text;
    };
    const terminal = {
      stdin: Object.assign(Readable.from(person.stdin ? [person.stdin] : []), { isTTY: false }),
      stdout: { isTTY: false },
      stderr: { isTTY: person.isTTY ?? false, write: say },
      print(text) {
        outcome.out += text;
        person.onPrint?.();
      },
      say: (line) => say(`${line}\n`),
      askHidden: async () => undefined,
      async confirm(question) {
        if (person.answer !== undefined) outcome.asked.push(question);
        return person.answer;
      },
    } as Omit<Terminal, keyof Streams> as Terminal; // of a stream only `isTTY` is looked at
    const owned = ownedItems(join(folder, 'mayfly/owned'));
    const env = { MAYFLY_SERVER: baseUrl };
    const program = buildProgram('0', async () => ({
      env,
      config: {},
      terminal,
      owned,
      unfinished,
      requests: keptRequests(join(folder, 'mayfly/requests')),
      signal,
      sleep: wait,
    }));
    for (const command of [program, ...program.commands]) {
      command.exitOverride().configureOutput({ writeErr: (text) => terminal.say(text) });
    }
    try {
      await program.parseAsync(args, { from: 'user' });
    } catch (error) {
      const failure = describeFailure(error);
      outcome.code = error instanceof CommanderError ? USAGE : exitCode(failure);
      terminal.say(failure.message);
    }
    return outcome;
  }

  /** Stops what some arguments send once three parts are stored, and returns the id. */
  async function stopped(...args: string[]): Promise<string> {
    const stop = new AbortController();
    const before = new Set(service.sessions.keys());
    service.fault = ({ path }) => {
      const [id = ''] = [...service.sessions.keys()].filter((id) => !before.has(id));
      if ((service.sessions.get(id)?.parts.size ?? 0) < 3 || !/\/\d+$/.test(path)) return undefined;
      stop.abort();
      return { status: 503, body: {} };
    };
    await run(['send', '--parts', ...args], { signal: stop.signal });
    // What was on the wire is read by the service, which is in this process, within some turns of the loop: it must not count as sent later.
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
    service.fault = () => undefined;
    service.requests.length = 0;
    return [...service.sessions.keys()].find((id) => !before.has(id)) ?? '';
  }

  /** The link as this service has it. */
  const here = (link: string) => link.trim().replace('https://mayfly.example', baseUrl);
  async function received(link: string): Promise<Buffer> {
    const { out } = await run(['get', here(link), '--force', '-o', join(folder, 'got')]);
    return readFile(out.trim());
  }
  const sentParts = () => service.requests.filter((request) => /POST .*\/\d+$/.test(request)).length;
  /** As it was at first. */
  async function reset() {
    await writeFile(file, CONTENT);
    for (const { id } of await unfinished.list()) await unfinished.forget(id);
    service.fault = () => undefined;
    service.sessions.clear();
    service.requests.length = 0;
  }
  const stack = undo.move();
  const dispose = () => stack.disposeAsync();
  const parts = { service, folder, baseUrl, unfinished, run, stopped, here, received, sentParts, reset, file };
  return { ...parts, [Symbol.asyncDispose]: dispose };
}

/** One for all tests of a file, as it was at first before each. */
export async function shareDesk() {
  const desk = await openDesk();
  beforeEach(desk.reset);
  afterAll(() => desk[Symbol.asyncDispose]());
  return desk;
}
