import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type Case, skip } from '../case.ts';
import { equal } from '../expect.ts';
import { questions, type Vectors } from './questions.ts';

/** A password takes a while on a slow machine. */
const ANSWER_MS = 60_000;

/**
 * The vectors as cases for a client: a command of the shell that reads questions, a line of JSON each, from its standard
 * input and writes one line for each of them in the same order: `{"answer":{...}}`, `{"refused":true}`, or
 * `{"unknown":true}` for what it is not able to do, which is then skipped. `stop` ends it.
 */
export function clientCases(command: string, vectors: Vectors): { cases: Case[]; stop: () => Promise<void> } {
  const child = spawn(command, { shell: true, detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<never>((_, reject) => {
    child.on('error', reject);
    child.on('close', (code) => reject(new Error(`the client has ended (${code})`)));
  });
  ended.catch(() => {}); // whoever asks hears of it
  child.stdin.on('error', () => {}); // it has ended, which is heard of above
  /** The shell, and all that it has started. */
  const kill = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // it has ended
    }
  };
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  async function ask(question: object): Promise<Record<string, unknown>> {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      // What it answers later would pass for the answer to another question.
      timer = setTimeout(() => {
        kill();
        reject(new Error('the client does not answer'));
      }, ANSWER_MS);
    });
    try {
      const { value = '' } = await Promise.race([lines.next(), ended, late]);
      return JSON.parse(value);
    } finally {
      clearTimeout(timer);
    }
  }

  const cases = questions(vectors).map(({ section, name, expected, ...question }) => ({
    section,
    name,
    async run() {
      const { answer, refused, unknown } = await ask(question);
      if (unknown) skip('the client is not able to do it');
      equal('answer', refused ? 'refused' : answer, expected);
    },
  }));
  const stop = async () => {
    kill();
    await ended.catch(() => {}); // that is what is waited for
  };
  return { cases, stop };
}
