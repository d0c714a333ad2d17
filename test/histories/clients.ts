import { changeTerms, createRequest, drop } from './by-owners.ts';
import { Client } from './calls.ts';
import type { History } from './history.ts';
import { sendInParts } from './in-parts.ts';
import { createNote, createUpload, download, type Item, readUnderLease, remove, view } from './on-items.ts';
import { Random } from './random.ts';

const CLIENTS = 8;
/** What came first is left alone, so that some of it stays. */
const RECENT = 24;

/** Clients of a service, each with its own choices. */
export class Clients {
  readonly #clients: Client[];
  readonly #partBytes: number;
  readonly #items: Item[] = [];

  constructor(baseUrls: string[], { seed, partBytes, history }: { seed: number; partBytes: number; history: History }) {
    this.#partBytes = partBytes;
    this.#clients = Array.from(
      { length: CLIENTS },
      (_, client) => new Client(baseUrls, new Random(seed + client), history),
    );
  }

  /** Each begins another operation as long as that says so. */
  async work(goesOn: (begun: number) => boolean) {
    let begun = 0;
    const turns = async (client: Client) => {
      for (; goesOn(begun); begun += 1) await this.#operate(client);
    };
    await Promise.all(this.#clients.map(turns));
  }

  /** A download of each of some new uploads: while nothing fails, no answer is missing. */
  async workUndisturbed(uploads: number) {
    const [client] = this.#clients;
    for (let made = 0; client && made < uploads; made += 1) {
      const item = await createUpload(client);
      if (item) await download(client, item);
    }
  }

  async #operate(client: Client) {
    const { random } = client;
    const recent = this.#items.slice(-RECENT);
    if (recent.length < CLIENTS || random.next() < 0.25) {
      const item = await this.#create(client);
      if (item) this.#items.push(item);
    } else await this.#use(client, random.pick(recent), recent);
  }

  #create(client: Client): Promise<Item | undefined> {
    const choice = client.random.next();
    if (choice < 0.1) return sendInParts(client, this.#partBytes);
    if (choice < 0.2) return createRequest(client);
    return choice < 0.6 ? createUpload(client) : createNote(client);
  }

  async #use(client: Client, item: Item, recent: Item[]) {
    const { random } = client;
    if (random.next() < 0.06) return remove(client, item);
    if (item.kind === 'request') {
      const uploads = recent.filter(({ kind }) => kind === 'upload');
      return uploads.length > 0 ? drop(client, item, random.pick(uploads)) : undefined;
    }
    if (random.next() < 0.15) return changeTerms(client, item);
    if (item.kind === 'note') return view(client, item);
    return random.next() < 0.5 ? download(client, item) : readUnderLease(client, item);
  }
}
