import { createHash, randomBytes } from 'node:crypto';
import { type Api, call, token, uploadHeaders } from './api.ts';

/** The least part that S3 stores take. */
export const PART = 5 * 1024 * 1024;

export type Begun = { id: string; url: string; authToken: string; ownerToken: string; payload: Buffer };

export const digestOf = (bytes: Buffer) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;

/** The endpoints of uploads in parts, of one replica. */
export class PartsApi {
  readonly api: Api;
  constructor(api: Api) {
    this.api = api;
  }
  get #url() {
    return `${this.api.baseUrl}/api/parts`;
  }

  begin(headers: Record<string, string>) {
    return call('POST', this.#url, { headers });
  }

  /** Begins an upload of this payload, which is expected to succeed. */
  async begun(payload: Buffer, changes: Record<string, string | undefined> = {}): Promise<Begun> {
    const tokens = { authToken: token(), ownerToken: token() };
    const lengths = { 'X-Upload-Length': String(payload.length), 'X-Part-Bytes': String(PART) };
    const answer = await this.begin(uploadHeaders(tokens, { ...lengths, ...changes }));
    if (answer.status !== 201) throw new Error(`it was not begun: ${answer.status} ${answer.text}`);
    return { ...tokens, id: String(answer.body.id), url: String(answer.body.url), payload };
  }

  put(id: string, number: number | string, ownerToken: string | undefined, body: Buffer, headers = {}) {
    const owner = ownerToken === undefined ? {} : { 'X-Owner-Token': ownerToken };
    return call('POST', `${this.#url}/${id}/${number}`, { body, headers: { ...owner, ...headers } });
  }

  /** One part of its payload. */
  send({ id, ownerToken, payload }: Begun, number: number, headers = {}) {
    return this.put(id, number, ownerToken, payload.subarray((number - 1) * PART, number * PART), headers);
  }

  state(id: string, ownerToken?: string) {
    return call('GET', `${this.#url}/${id}`, { headers: ownerToken ? { 'X-Owner-Token': ownerToken } : {} });
  }

  complete(id: string, ownerToken: string | undefined, json: unknown) {
    const headers: Record<string, string> = ownerToken ? { 'X-Owner-Token': ownerToken } : {};
    return call('POST', `${this.#url}/${id}/complete`, { json, headers });
  }

  cancel(id: string, ownerToken?: string) {
    return call('DELETE', `${this.#url}/${id}`, { headers: ownerToken ? { 'X-Owner-Token': ownerToken } : {} });
  }

  arrival(id: string) {
    return call('GET', `${this.api.baseUrl}/api/arrival/${id}`);
  }
}

/** A payload of so many parts, the last one of 1,000 bytes. */
export const payloadOf = (parts: number) => randomBytes((parts - 1) * PART + 1_000);
