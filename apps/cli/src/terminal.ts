import { closeSync, openSync } from 'node:fs';
import { ReadStream, WriteStream } from 'node:tty';
import { MayflyError } from '@mayfly/client';
import { jsonLine } from './json-line.ts';

export type Streams = {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
};

/**
 * The person or the program at the other end. What was asked for goes to stdout, everything else to stderr, so that a
 * pipe gets the answer and nothing more.
 */
export type Terminal = Streams & {
  print(text: string): void;
  say(line: string): void;
  /** Undefined where there is nobody to ask: no terminal. */
  askHidden(question: string): Promise<string | undefined>;
  /** `isYes` is what Enter alone means; no, unless it is said. */
  confirm(question: string, isYes?: boolean): Promise<boolean | undefined>;
};

/** `isJson`: what is said is JSON as well, `{"notice":"..."}`. */
export function openTerminal(streams: Streams, signal: AbortSignal, isJson = false): Terminal {
  return {
    ...streams,
    print: (text) => streams.stdout.write(text),
    say: (line) => streams.stderr.write(isJson ? jsonLine({ notice: line }) : `${line}\n`),
    // Most commands ask nothing, and do without what asks.
    askHidden: (question) =>
      withPerson(streams, signal, async (context) => {
        const { default: password } = await import('@inquirer/password');
        return password({ message: question, mask: false }, context);
      }),
    confirm: (question, isYes = false) =>
      withPerson(streams, signal, async (context) => {
        const { default: confirm } = await import('@inquirer/confirm');
        return confirm({ message: question, default: isYes }, context);
      }),
  };
}

type Context = { input: NodeJS.ReadableStream; output: NodeJS.WritableStream; signal: AbortSignal };

/** stdin may be a file that is being sent: the question then goes to the terminal that the command was started in. */
async function withPerson<T>(streams: Streams, signal: AbortSignal, ask: (context: Context) => Promise<T>) {
  const own = streams.stdin.isTTY && streams.stderr.isTTY ? undefined : openControllingTerminal();
  if (!own && !streams.stdin.isTTY) return undefined;
  try {
    return await ask({ input: own?.input ?? streams.stdin, output: own?.output ?? streams.stderr, signal });
  } catch (error) {
    // The library's own name for Ctrl-C and for the signal.
    if (error instanceof Error && /^(ExitPrompt|AbortPrompt)Error$/.test(error.name)) {
      throw new MayflyError('aborted', { cause: error });
    }
    throw error;
  } finally {
    own?.close();
  }
}

function openControllingTerminal() {
  let descriptor: number;
  try {
    descriptor = openSync('/dev/tty', 'r+');
  } catch {
    return undefined; // started by a program, not by a person
  }
  const input = new ReadStream(descriptor);
  const output = new WriteStream(descriptor);
  return {
    input,
    output,
    close() {
      input.destroy();
      output.destroy();
      try {
        closeSync(descriptor);
      } catch {
        // destroying a stream may have closed it
      }
    },
  };
}
