import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { noteBody, uploadHeaders } from '../support/api.ts';
import type { Operation } from './checker.ts';
import { Random } from './random.ts';

/** Nobody waits longer for an answer; what comes of it is then unknown. */
const PATIENCE_MS = 20_000;
/** After an operation without an answer: nobody asks a thousand times a second of what is away. */
const PAUSE_MS = 200;
const CLIENTS = 8;
/** What came first is left alone, so that some of it stays. */
const RECENT = 24;

const TIMED_OUT = 408;
const NOT_SO_LONG = 416;

type Asked = [
  random: Random,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  what: { headers?: Record<string, string>; body?: Buffer<ArrayBuffer>; json?: unknown },
];
type Item = { label: string; id: string; kind: 'upload' | 'note'; authToken: string; ownerToken: string };
type Answer = { status: number; bytes: Buffer };
/** An operation without its end. */
type Begun = { item: string } & (
  | { kind: 'create'; limit: number; bytes: number; digest: string }
  | { kind: 'use'; key: string }
  | { kind: 'delete' }
);
/** What came of it. */
type End = { outcome: Operation['outcome']; digest?: string };

export const digestOf = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
/** As the service keeps it. */
const hashOf = (token: string) => createHash('sha256').update(token).digest('hex');

/** Clients of a service, and what they asked and were told. */
export class Clients {
  readonly history: Operation[] = [];
  /** Labels of items, by the hash of the owner's token: that of an item whose creation was not answered is known, too. */
  readonly labels = new Map<string, string>();
  /** One for each client: what one of them does does not depend on how fast the others are. */
  readonly #randoms: Random[];
  readonly #baseUrls: string[];
  readonly #items: Item[] = [];
  #time = 0;
  #isOver = false;

  constructor(baseUrls: string[], seed: number) {
    this.#baseUrls = baseUrls;
    this.#randoms = Array.from({ length: CLIENTS }, (_, client) => new Random(seed + client));
  }

  /** Works until it is stopped, or so many operations have begun. */
  async work(most = Number.POSITIVE_INFINITY) {
    let begun = 0;
    const client = async (random: Random) => {
      for (; !this.#isOver && begun < most; begun += 1) await this.#operate(random);
    };
    await Promise.all(this.#randoms.map(client));
  }

  stop() {
    this.#isOver = true;
  }

  #operate(random: Random): Promise<unknown> {
    const recent = this.#items.slice(-RECENT);
    if (recent.length < CLIENTS || random.next() < 0.25) {
      return random.next() < 0.5 ? this.#createUpload(random) : this.#createNote(random);
    }
    const item = random.pick(recent);
    if (random.next() < 0.06) return this.#remove(random, item);
    if (item.kind === 'note') return this.#view(random, item);
    return random.next() < 0.5 ? this.#download(random, item) : this.#lease(random, item);
  }

  async #createUpload(random: Random) {
    const tokens = { authToken: random.token(), ownerToken: random.token() };
    const payload = random.bytes(random.between(1, random.pick([1_000, 70_000, 400_000])));
    const limit = random.pick([1, 2, 3]);
    const headers = uploadHeaders(tokens, { 'X-Max-Downloads': String(limit) });
    const create = { kind: 'create', limit, bytes: payload.length, digest: digestOf(payload) } as const;
    await this.#create('upload', tokens, create, () =>
      this.#call(random, 'POST', '/api/upload', { body: payload, headers }),
    );
  }

  async #createNote(random: Random) {
    const tokens = { authToken: random.token(), ownerToken: random.token() };
    const limit = random.pick([1, 2, 3]);
    const encryptedContent = random.bytes(random.between(17, random.pick([200, 40_000]))).toString('base64');
    const json = noteBody({ ...tokens, maxViews: limit, encryptedContent });
    const create = {
      kind: 'create',
      limit,
      bytes: encryptedContent.length,
      digest: digestOf(encryptedContent),
    } as const;
    await this.#create('note', tokens, create, () => this.#call(random, 'POST', '/api/note', { json }));
  }

  async #create(
    kind: Item['kind'],
    tokens: Pick<Item, 'authToken' | 'ownerToken'>,
    create: Pick<Extract<Operation, { kind: 'create' }>, 'kind' | 'limit' | 'bytes' | 'digest'>,
    send: () => Promise<Answer>,
  ) {
    const label = `${kind} ${this.labels.size + 1}`;
    this.labels.set(hashOf(tokens.ownerToken), label);
    await this.#record({ ...create, item: label }, async () => {
      const { status, bytes } = await send();
      if (outcomeOf(status) === 'succeeded') {
        this.#items.push({ ...tokens, label, kind, id: JSON.parse(bytes.toString()).id });
      }
      return { outcome: outcomeOf(status) };
    });
  }

  async #download(random: Random, { label, id, authToken }: Item) {
    const use = { kind: 'use', item: label, key: random.token() } as const;
    const headers = { 'X-Auth-Token': authToken };
    await this.#record(use, async () => received(await this.#call(random, 'GET', `/api/download/${id}`, { headers })));
  }

  /** In two ranges; each is asked for again until it has come. What has not all come was perhaps a use. */
  async #lease(random: Random, { label, id, authToken }: Item) {
    const lease = random.token();
    const headers = { 'X-Auth-Token': authToken, 'X-Download-Lease': lease };
    await this.#record({ kind: 'use', item: label, key: lease }, async () => {
      let end: End = { outcome: 'unknown' };
      for (let tries = 0; tries < 3 && end.outcome === 'unknown'; tries += 1) {
        const read = (Range: string) =>
          this.#answer(random, 'GET', `/api/lease/${id}`, { headers: { ...headers, Range } });
        const first = await read('bytes=0-99');
        if (first && outcomeOf(first.status) === 'failed') return { outcome: tries === 0 ? 'failed' : 'unknown' };
        const rest = await read('bytes=100-');
        if (first?.status !== 206 || (rest?.status !== 206 && rest?.status !== NOT_SO_LONG)) continue;
        const bytes = rest.status === NOT_SO_LONG ? [first.bytes] : [first.bytes, rest.bytes];
        end = { outcome: 'succeeded', digest: digestOf(Buffer.concat(bytes)) };
      }
      return end;
    });
  }

  /** Half of them can be repeated, and are when there was no answer. */
  async #view(random: Random, { label, id, authToken }: Item) {
    const key = random.token();
    const headers: Record<string, string> = random.next() < 0.5 ? { 'Idempotency-Key': key } : {};
    const tries = headers['Idempotency-Key'] ? 3 : 1;
    await this.#record({ kind: 'use', item: label, key }, async () => {
      let end: End = { outcome: 'unknown' };
      for (let count = 0; count < tries && end.outcome === 'unknown'; count += 1) {
        const answer = await this.#answer(random, 'POST', `/api/note/${id}/view`, { json: { authToken }, headers });
        if (answer?.status === 200) {
          return { outcome: 'succeeded', digest: digestOf(JSON.parse(answer.bytes.toString()).encryptedContent) };
        }
        if (answer && outcomeOf(answer.status) === 'failed') end = { outcome: count === 0 ? 'failed' : 'unknown' };
        if (end.outcome === 'failed') break;
      }
      return end;
    });
  }

  async #remove(random: Random, { label, id, kind, ownerToken }: Item) {
    await this.#record({ kind: 'delete', item: label }, async () => {
      const { status } = await this.#call(random, 'DELETE', `/api/${kind}/${id}`, {
        headers: { 'X-Owner-Token': ownerToken },
      });
      return { outcome: outcomeOf(status) };
    });
  }

  /** An operation without an answer is unknown. */
  async #record(operation: Begun, act: () => Promise<End>) {
    const invoked = this.#tick();
    const end: End = await act().catch(() => ({ outcome: 'unknown' as const }));
    if (end.outcome === 'unknown') await sleep(PAUSE_MS);
    this.history.push({ ...operation, invoked, ended: this.#tick(), ...end } as Operation);
  }

  #tick(): number {
    this.#time += 1;
    return this.#time;
  }

  /** Undefined when there is none. */
  #answer(...asked: Asked): Promise<Answer | undefined> {
    return this.#call(...asked).catch(() => undefined);
  }

  async #call(...[random, method, path, { headers = {}, body, json }]: Asked): Promise<Answer> {
    const isJson = json !== undefined;
    const answer = await fetch(`${random.pick(this.#baseUrls)}${path}`, {
      method,
      headers: { ...headers, ...(isJson ? { 'content-type': 'application/json' } : {}) },
      ...(isJson ? { body: JSON.stringify(json) } : body ? { body } : {}),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  }
}

/** A fault of the service, or of what is before it, says nothing of what was done. */
function outcomeOf(status: number): Operation['outcome'] {
  if (status < 300) return 'succeeded';
  return status < 500 && status !== TIMED_OUT ? 'failed' : 'unknown';
}

function received({ status, bytes }: Answer): End {
  const outcome = outcomeOf(status);
  return outcome === 'succeeded' ? { outcome, digest: digestOf(bytes) } : { outcome };
}
