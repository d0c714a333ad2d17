import { randomBytes } from 'node:crypto';
import { skip } from './case.ts';
import { answers } from './expect.ts';
import { type Answer, type Outgoing, send, sendOnce, sendRaw } from './http.ts';
import { type Limits, optionFrom } from './limits.ts';

export type Tokens = { authToken: string; ownerToken: string };
export type Upload = Tokens & { id: string; url: string; payload: Buffer };
export type Note = Tokens & { id: string; content: Record<string, unknown>; answer: Record<string, unknown> };
/** A case for a server. What it creates through the site is deleted afterwards. */
export type ServerCase = { section: string; name: string; run: (site: Site) => Promise<void> };
export const serverCase = (section: string, name: string, run: ServerCase['run']): ServerCase => ({
  section,
  name,
  run,
});
type Changes = Record<string, string | undefined>;

export const token = () => randomBytes(32).toString('base64url');
export const salt = () => randomBytes(16).toString('base64url');
export const UNKNOWN = '00000000-0000-4000-8000-000000000000';
export const META = { encryptedMeta: randomBytes(60).toString('base64'), nonce: randomBytes(12).toString('base64') };
export const PASSWORD = { 'X-Has-Password': 'true', 'X-Password-Salt': salt(), 'X-Password-Algo': 'argon2id' };
export const NOTE_PASSWORD = { hasPassword: true, passwordSalt: salt(), passwordAlgo: 'pbkdf2' };

type SiteOptions = { waitSec: number; mayExhaust?: boolean | undefined; key?: string | undefined };

/** A deletion is worth waiting for so long. */
const CLEAN_UP_SEC = 30;

/** A live long enough for a case, whatever the machine does. */
const EXPIRE_SEC = 60;

/** A server as the cases see it: its address, its limits, and what they create there, which `cleanUp` deletes. */
export class Site {
  readonly limits: Limits;
  /** Seconds that a case may wait for an expiry. */
  readonly waitSec: number;
  /** Whether cases may use up what the server allows a client. */
  readonly mayExhaust: boolean;
  readonly base: URL;
  #key: string | undefined;
  #created: { path: string; ownerToken: string }[] = [];

  constructor(base: URL, limits: Limits, { waitSec, mayExhaust = false, key }: SiteOptions) {
    this.base = base;
    this.limits = limits;
    this.waitSec = waitSec;
    this.mayExhaust = mayExhaust;
    this.#key = key;
  }

  send(method: string, path: string, outgoing?: Outgoing): Promise<Answer> {
    return send(this.base, method, path, outgoing);
  }

  /** Without waiting where it is told to. */
  sendOnce(method: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return sendOnce(this.base, method, path, { headers });
  }

  /** A request of which no more than this comes, on a connection that stays open. */
  sendStalled(head: string, partOfBody: string, silentMs: number) {
    return sendRaw(this.base, `${head}\r\nHost: ${this.base.host}\r\n\r\n${partOfBody}`, { silentMs });
  }

  /** `head` without its last empty line, `Host` added. With a part of a body the connection ends after it. */
  sendRaw(head: string, partOfBody?: string) {
    const text = `${head}\r\nHost: ${this.base.host}\r\nConnection: close\r\n\r\n${partOfBody ?? ''}`;
    return sendRaw(this.base, text, { endsThere: partOfBody !== undefined });
  }

  /** Bytes that need be no HTTP. The connection ends after them. */
  sendBytes(text: string) {
    return sendRaw(this.base, text, { endsThere: true });
  }

  uploadHeaders(tokens: Tokens, changes: Changes = {}): Record<string, string> {
    const { expireOptionsSec, downloadOptions } = this.limits;
    const headers: Changes = {
      ...this.creatingHeaders(),
      'Content-Type': 'application/octet-stream',
      'X-Auth-Token': tokens.authToken,
      'X-Owner-Token': tokens.ownerToken,
      'X-Salt': salt(),
      'X-Max-Downloads': String(optionFrom(2, downloadOptions)),
      'X-Expire-Sec': String(optionFrom(EXPIRE_SEC, expireOptionsSec)),
      'X-File-Count': '1',
      'X-Has-Password': 'false',
      ...changes,
    };
    return Object.fromEntries(Object.entries(headers).filter((entry) => entry[1] !== undefined)) as Record<
      string,
      string
    >;
  }

  /** Sends an upload that may be refused, and remembers it if it is not. */
  async tryUpload(changes: Changes = {}, body: Buffer | string = 'a payload', tokens = newTokens()): Promise<Answer> {
    const answer = await this.send('POST', '/api/upload', { headers: this.uploadHeaders(tokens, changes), body });
    this.#remember('/api/upload', answer, tokens);
    return answer;
  }

  async upload(changes: Changes = {}, payload = randomBytes(1000)): Promise<Upload> {
    const tokens = newTokens();
    const answer = await this.tryUpload(changes, payload, tokens);
    answers(answer, 200);
    const { id, url } = answer.json as { id: string; url: string };
    return { ...tokens, id, url, payload };
  }

  noteBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
    const { noteExpireOptionsSec, noteViewOptions } = this.limits;
    return {
      ...newTokens(),
      encryptedContent: randomBytes(100).toString('base64'),
      nonce: randomBytes(12).toString('base64'),
      salt: salt(),
      contentType: 'text',
      maxViews: optionFrom(2, noteViewOptions),
      expireSec: optionFrom(EXPIRE_SEC, noteExpireOptionsSec),
      hasPassword: false,
      ...changes,
    };
  }

  async tryNote(changes: Record<string, unknown> = {}): Promise<Answer & { content: Record<string, unknown> }> {
    const content = this.noteBody(changes);
    const answer = await this.send('POST', '/api/note', { json: content, headers: this.creatingHeaders() });
    this.#remember('/api/note', answer, { ownerToken: String(content.ownerToken) });
    return { ...answer, content };
  }

  async note(changes: Record<string, unknown> = {}): Promise<Note> {
    const { content, ...answer } = await this.tryNote(changes);
    answers(answer, 201);
    const { authToken, ownerToken } = content as Tokens;
    const body = answer.json as Record<string, unknown>;
    return { id: String(body.id), authToken, ownerToken, content, answer: body };
  }

  download = (id: string, authToken?: string, method = 'GET') =>
    this.send(method, `/api/download/${id}`, { headers: authToken === undefined ? {} : { 'X-Auth-Token': authToken } });
  view = (id: string, authToken: unknown, headers: Record<string, string> = {}) =>
    this.send('POST', `/api/note/${id}/view`, { json: { authToken }, headers });
  delete = (path: string, ownerToken?: string) =>
    this.send('DELETE', path, { headers: ownerToken === undefined ? {} : { 'X-Owner-Token': ownerToken } });
  setMeta = (id: string, ownerToken?: string, json: unknown = META) =>
    this.send('POST', `/api/meta/${id}`, {
      headers: ownerToken === undefined ? {} : { 'X-Owner-Token': ownerToken },
      json,
    });

  /** What creating takes here, beside what the contract says. */
  creatingHeaders(): Record<string, string> {
    if (this.limits.createGuard === 'key' && !this.#key) skip('creating takes a key here: MAYFLY_KEY');
    if (this.limits.createGuard === 'oidc') skip('creating takes a sign-in here, on pages only');
    return this.#key ? { Authorization: `Bearer ${this.#key}` } : {};
  }

  /** An expiry that a case can wait for. */
  shortest(options: number[]): number {
    const shortest = Math.min(...options);
    if (shortest > this.waitSec) skip(`the shortest expiry is ${shortest} s; --wait ${shortest} waits so long`);
    return shortest;
  }

  /** A limit of uses that a case can reach. */
  fewest(options: number[], most = 5): number {
    const fewest = Math.min(...options);
    if (fewest > most) skip(`the smallest limit is ${fewest}`);
    return fewest;
  }

  /** Deletes what was created; what cannot be deleted for a while is left to its expiry. */
  async cleanUp(): Promise<void> {
    for (const { path, ownerToken } of this.#created.splice(0)) {
      const outgoing = { headers: { 'X-Owner-Token': ownerToken } };
      await send(this.base, 'DELETE', path, outgoing, CLEAN_UP_SEC).catch(() => {}); // no case is about this
    }
  }

  #remember(path: string, { status, json }: Answer, { ownerToken }: { ownerToken: string }) {
    const id = (json as { id?: unknown } | undefined)?.id;
    if (status < 300 && typeof id === 'string') this.#created.push({ path: `${path}/${id}`, ownerToken });
  }
}

const newTokens = (): Tokens => ({ authToken: token(), ownerToken: token() });
