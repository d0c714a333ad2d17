import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { remember } from './documented.ts';

export type Answer<Body = Record<string, unknown>> = {
  status: number;
  body: Body;
  text: string;
  headers: Record<string, string | string[] | undefined>;
};

export type Tokens = { authToken: string; ownerToken: string };

export const token = () => randomBytes(32).toString('base64url');
const salt = () => randomBytes(16).toString('base64url');
export const unknownId = '00000000-0000-4000-8000-000000000000';

const dispatcher = new Agent({ connections: 64, pipelining: 1 });

/** Sends a request and reads the whole answer; JSON is parsed when it is said to be. */
export async function call(
  method: 'GET' | 'POST' | 'DELETE' | 'HEAD' | 'PUT' | 'PATCH' | 'OPTIONS',
  url: string,
  options: {
    headers?: Record<string, string>;
    body?: string | Buffer | Readable | AsyncIterable<Buffer>;
    json?: unknown;
  } = {},
): Promise<Answer> {
  const headers = { ...options.headers };
  if ('json' in options) headers['content-type'] ??= 'application/json';
  const body = 'json' in options ? JSON.stringify(options.json) : options.body;
  const answer = await request(url, {
    method,
    headers,
    dispatcher,
    ...(body === undefined ? {} : { body: body as Readable }),
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const contentType = String(answer.headers['content-type'] ?? '');
  const isJson = contentType.startsWith('application/json') && bytes.length > 0;
  const parsed = isJson ? JSON.parse(bytes.toString()) : { bytes };
  remember({ method, url, status: answer.statusCode, contentType, body: parsed });
  return { status: answer.statusCode, headers: answer.headers, text: bytes.toString(), body: parsed };
}

export const uploadHeaders = (tokens: Tokens, changes: Record<string, string | undefined> = {}) => {
  const all: Record<string, string | undefined> = {
    'X-Auth-Token': tokens.authToken,
    'X-Owner-Token': tokens.ownerToken,
    'X-Salt': salt(),
    'X-Max-Downloads': '2',
    'X-Expire-Sec': '3600',
    'X-File-Count': '1',
    'X-Has-Password': 'false',
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
};

/** A client that knows an address and the contract, and nothing else. */
export class Api {
  readonly baseUrl: string;

  constructor(baseUrl: string) {
    this.baseUrl = baseUrl;
  }

  upload(body: Buffer | string, headers: Record<string, string>) {
    return call('POST', `${this.baseUrl}/api/upload`, { body, headers });
  }

  /** Creates an upload that is expected to succeed. */
  async newUpload(changes: Record<string, string | undefined> = {}, payload: Buffer = randomBytes(1000)) {
    const tokens = { authToken: token(), ownerToken: token() };
    const answer = await this.upload(payload, uploadHeaders(tokens, changes));
    if (answer.status !== 200) throw new Error(`upload answered ${answer.status} ${answer.text}`);
    return { ...tokens, id: String(answer.body.id), url: String(answer.body.url), payload };
  }

  setMeta(id: string, ownerToken: string | undefined, json: unknown = META) {
    return call('POST', `${this.baseUrl}/api/meta/${id}`, {
      json,
      headers: ownerToken ? { 'X-Owner-Token': ownerToken } : {},
    });
  }

  info(id: string) {
    return call('GET', `${this.baseUrl}/api/info/${id}`);
  }

  exists(id: string) {
    return call('GET', `${this.baseUrl}/api/exists/${id}`);
  }

  checkPassword(id: string, authToken: string) {
    return call('POST', `${this.baseUrl}/api/password/${id}`, { json: { authToken } });
  }

  download(id: string, authToken?: string) {
    return call('GET', `${this.baseUrl}/api/download/${id}`, {
      headers: authToken ? { 'X-Auth-Token': authToken } : {},
    });
  }

  deleteUpload(id: string, ownerToken?: string) {
    return call('DELETE', `${this.baseUrl}/api/upload/${id}`, {
      headers: ownerToken ? { 'X-Owner-Token': ownerToken } : {},
    });
  }

  createNote(json: unknown) {
    return call('POST', `${this.baseUrl}/api/note`, { json });
  }

  /** Creates a note that is expected to succeed. */
  async newNote(changes: Record<string, unknown> = {}) {
    const note = noteBody(changes);
    const answer = await this.createNote(note);
    if (answer.status !== 201) throw new Error(`note answered ${answer.status} ${answer.text}`);
    return { ...note, id: String(answer.body.id), expiresAt: String(answer.body.expiresAt) };
  }

  note(id: string) {
    return call('GET', `${this.baseUrl}/api/note/${id}`);
  }

  view(id: string, authToken: string) {
    return call('POST', `${this.baseUrl}/api/note/${id}/view`, { json: { authToken } });
  }

  checkNotePassword(id: string, authToken: string) {
    return call('POST', `${this.baseUrl}/api/note/${id}/password`, { json: { authToken } });
  }

  deleteNote(id: string, ownerToken?: string) {
    return call('DELETE', `${this.baseUrl}/api/note/${id}`, {
      headers: ownerToken ? { 'X-Owner-Token': ownerToken } : {},
    });
  }
}

export const META = {
  encryptedMeta: Buffer.from('names, types and sizes').toString('base64'),
  nonce: Buffer.alloc(12, 7).toString('base64'),
};

export const noteBody = (changes: Record<string, unknown> = {}) => ({
  encryptedContent: randomBytes(100).toString('base64'),
  nonce: randomBytes(12).toString('base64'),
  salt: salt(),
  ownerToken: token(),
  authToken: token(),
  contentType: 'text',
  maxViews: 2,
  expireSec: 3600,
  hasPassword: false,
  ...changes,
});

export const PASSWORD_HEADERS = {
  'X-Has-Password': 'true',
  'X-Password-Salt': Buffer.alloc(16, 9).toString('base64url'),
  'X-Password-Algo': 'argon2id',
};
