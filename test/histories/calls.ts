import { createHash } from 'node:crypto';
import type { End, Outcome } from './checker.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';

/** Nobody waits longer for an answer; what comes of it is then unknown. */
const PATIENCE_MS = 20_000;

const TIMED_OUT = 408;
/** Said before anything is stored, or when what was stored is gone again. */
const NO_ROOM = 507;

export type Answer = { status: number; bytes: Buffer };
type What = { headers?: Record<string, string>; body?: Buffer<ArrayBuffer>; json?: unknown };

/** One client: what it does does not depend on how fast the others are. */
export class Client {
  readonly random: Random;
  readonly history: History;
  readonly #baseUrls: string[];

  constructor(baseUrls: string[], random: Random, history: History) {
    this.#baseUrls = baseUrls;
    this.random = random;
    this.history = history;
  }

  /** Asks one of the replicas. Undefined when there is no answer. */
  ask(method: 'GET' | 'POST' | 'DELETE', path: string, what: What = {}): Promise<Answer | undefined> {
    return this.#send(method, path, what).catch(() => undefined);
  }

  /**
   * The same again, which has to be something that can be repeated, until the answer leaves nothing open or `tries` are over. A no
   * to what was asked before says nothing of the first time.
   */
  async askAgain(
    tries: number,
    ...question: Parameters<Client['ask']>
  ): Promise<{ outcome: Outcome; answer?: Answer }> {
    for (let count = 1; count <= tries; count += 1) {
      if (count > 1) await this.history.pause();
      const answer = await this.ask(...question);
      const outcome = outcomeOf(answer);
      if (answer && outcome === 'succeeded') return { outcome, answer };
      if (answer && outcome === 'failed') return { outcome: count === 1 ? 'failed' : 'unknown', answer };
    }
    return { outcome: 'unknown' };
  }

  async #send(method: string, path: string, { headers = {}, body, json }: What): Promise<Answer> {
    const isJson = json !== undefined;
    const answer = await fetch(`${this.random.pick(this.#baseUrls)}${path}`, {
      method,
      headers: { ...headers, ...(isJson ? { 'content-type': 'application/json' } : {}) },
      ...(isJson ? { body: JSON.stringify(json) } : body ? { body } : {}),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  }
}

/** A fault of the service, or of what is before it, says nothing of what was done. */
export function outcomeOf(answer: Answer | undefined): Outcome {
  if (!answer) return 'unknown';
  const { status } = answer;
  if (status < 300) return 'succeeded';
  return (status < 500 && status !== TIMED_OUT) || status === NO_ROOM ? 'failed' : 'unknown';
}

/** The end of a use whose answer is the payload. */
export function received(answer: Answer | undefined): End {
  const outcome = outcomeOf(answer);
  return answer && outcome === 'succeeded' ? { outcome, digest: digestOf(answer.bytes) } : { outcome };
}

export const digestOf = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

export const bodyOf = ({ bytes }: Answer) => JSON.parse(bytes.toString());
