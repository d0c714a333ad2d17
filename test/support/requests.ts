import { randomBytes } from 'node:crypto';
import { type Answer, type Api, call, META, token } from './api.ts';

const base64 = (bytes: number) => randomBytes(bytes).toString('base64');

/** What asks for files, as the contract has it, with what differs. */
export const requestBody = (changes: Record<string, unknown> = {}) => ({
  publicKey: base64(1_216),
  ownerToken: token(),
  maxDrops: 5,
  maxBytes: 1_000_000,
  dropExpireSec: 3_600,
  dropMaxDownloads: 1,
  expireSec: 3_600,
  greeting: base64(144),
  nonce: base64(12),
  ...changes,
});

/** A client of the endpoints of requests. */
export class RequestsApi {
  readonly api: Api;
  constructor(api: Api) {
    this.api = api;
  }

  create(json: unknown) {
    return call('POST', `${this.api.baseUrl}/api/request`, { json });
  }

  /** A request that is expected to be made. */
  async ask(changes: Record<string, unknown> = {}) {
    const json = requestBody(changes);
    const answer = await this.create(json);
    if (answer.status !== 201) throw new Error(`request answered ${answer.status} ${answer.text}`);
    return {
      ...json,
      id: String(answer.body.id),
      url: String(answer.body.url),
      expiresAt: String(answer.body.expiresAt),
    };
  }

  info(id: string) {
    return call('GET', `${this.api.baseUrl}/api/request/${id}`);
  }

  /** An upload with its metadata, which is not dropped yet. */
  async upload(bytes = 1_000) {
    const upload = await this.api.newUpload({}, randomBytes(bytes));
    const { status } = await this.api.setMeta(upload.id, upload.ownerToken, META);
    if (status !== 200) throw new Error(`metadata answered ${status}`);
    return upload;
  }

  drop(id: string, upload: { id: string; ownerToken?: string }, changes: Record<string, unknown> = {}) {
    return call('POST', `${this.api.baseUrl}/api/request/${id}/drop`, {
      json: { uploadId: upload.id, enc: base64(1_121), sealed: base64(49), ...changes },
      headers: owner(upload.ownerToken),
    });
  }

  async drops(id: string, ownerToken?: string) {
    const answer = await call('GET', `${this.api.baseUrl}/api/request/${id}/drops`, { headers: owner(ownerToken) });
    return answer as Answer<Record<string, unknown> & { drops: Record<string, unknown>[] }>;
  }

  remove(id: string, ownerToken?: string) {
    return call('DELETE', `${this.api.baseUrl}/api/request/${id}`, { headers: owner(ownerToken) });
  }

  setHooks(id: string, ownerToken: string | undefined, json: unknown) {
    return call('POST', `${this.api.baseUrl}/api/own/request/${id}/hooks`, { json, headers: owner(ownerToken) });
  }

  endHooks(id: string, ownerToken?: string) {
    return call('DELETE', `${this.api.baseUrl}/api/own/request/${id}/hooks`, { headers: owner(ownerToken) });
  }
}

const owner = (ownerToken: string | undefined): Record<string, string> =>
  ownerToken ? { 'X-Owner-Token': ownerToken } : {};
