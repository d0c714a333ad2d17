import { randomBytes } from 'node:crypto';
import type { Request } from './connection.ts';

// Requests of the contract, as bytes ready to send.

/** Different clients, so that the limits work as in life: each has a window and a quota of its own. */
const CLIENTS = 4_000;

export type ServiceLimits = { downloadOptions: number[]; expireOptionsSec: number[] } & {
  noteViewOptions: number[];
  noteExpireOptionsSec: number[];
  /** 16 unless told. */
  saltBytes?: number;
};

export const AUTH_TOKEN = randomBytes(32).toString('base64url');
const OWNER_TOKEN = randomBytes(32).toString('base64url');
const SALT = randomBytes(32);
const saltOf = ({ saltBytes = 16 }: ServiceLimits) => SALT.subarray(0, saltBytes).toString('base64url');
const NOTE_CONTENT = randomBytes(1024).toString('base64');

/** Services that have Mayfly's requests, but call their limits otherwise and have longer salts. */
export const DIALECTS = ['mayfly', 'skysend'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** A service with other options than Mayfly's defaults is asked in its own. */
export async function limitsOf(url: string, dialect: Dialect = 'mayfly'): Promise<ServiceLimits> {
  const config = await (await fetch(`${url}/api/config`)).json(); // contract 5
  if (dialect === 'mayfly') return config as ServiceLimits;
  const { fileDownloadOptions, fileExpireOptions, noteViewOptions, noteExpireOptions } = config as SkysendConfig;
  return {
    downloadOptions: fileDownloadOptions,
    expireOptionsSec: fileExpireOptions,
    noteViewOptions,
    noteExpireOptionsSec: noteExpireOptions,
    saltBytes: 32,
  };
}

type SkysendConfig = Record<
  'fileDownloadOptions' | 'fileExpireOptions' | 'noteViewOptions' | 'noteExpireOptions',
  number[]
>;

/** A request without a body. */
export function get(path: string, index: number, headers: Record<string, string> = {}): Request {
  return { head: head('GET', path, index, headers) };
}

export function remove(path: string, index: number, headers: Record<string, string>): Request {
  return { head: head('DELETE', path, index, headers) };
}

export function postJson(path: string, index: number, body: unknown): Request {
  const chunk = Buffer.from(JSON.stringify(body));
  const headers = { 'Content-Type': 'application/json', 'Content-Length': String(chunk.length) };
  return { head: head('POST', path, index, headers), body: { chunk, sizeBytes: chunk.length } };
}

export function createNote(index: number, limits: ServiceLimits): Request {
  return postJson('/api/note', index, {
    encryptedContent: NOTE_CONTENT,
    nonce: 'JDdbHrvK4xAQg3wy',
    salt: saltOf(limits),
    ownerToken: OWNER_TOKEN,
    authToken: AUTH_TOKEN,
    contentType: 'text',
    maxViews: Math.max(...limits.noteViewOptions),
    expireSec: Math.max(...limits.noteExpireOptionsSec),
    hasPassword: false,
  });
}

export function createUpload(index: number, limits: ServiceLimits, chunk: Buffer, sizeBytes: number): Request {
  const headers = { ...uploadHeaders(limits), 'Content-Length': String(sizeBytes) };
  return { head: head('POST', '/api/upload', index, headers), body: { chunk, sizeBytes } };
}

export const removeUpload = (index: number, id: string): Request =>
  remove(`/api/upload/${id}`, index, { 'X-Owner-Token': OWNER_TOKEN });

/** Of a payload of one part, which may be as short as it likes. */
export function beginParts(index: number, limits: ServiceLimits, sizeBytes: number): Request {
  const lengths = { 'X-Upload-Length': String(sizeBytes), 'X-Part-Bytes': String(8 * 1024 * 1024) };
  return { head: head('POST', '/api/parts', index, { ...uploadHeaders(limits), ...lengths, 'Content-Length': '0' }) };
}

export function sendPart(index: number, id: string, number: number, chunk: Buffer): Request {
  const headers = { 'X-Owner-Token': OWNER_TOKEN, 'Content-Length': String(chunk.length) };
  const body = { chunk, sizeBytes: chunk.length };
  return { head: head('POST', `/api/parts/${id}/${number}`, index, headers), body };
}

export function cancelParts(index: number, id: string): Request {
  return remove(`/api/parts/${id}`, index, { 'X-Owner-Token': OWNER_TOKEN });
}

export const uploadHeaders = (limits: ServiceLimits) => ({
  'X-Auth-Token': AUTH_TOKEN,
  'X-Owner-Token': OWNER_TOKEN,
  'X-Salt': saltOf(limits),
  'X-Max-Downloads': String(Math.max(...limits.downloadOptions)),
  'X-Expire-Sec': String(Math.max(...limits.expireOptionsSec)),
  'X-File-Count': '1',
  'X-Has-Password': 'false',
});

function head(method: string, path: string, index: number, headers: Record<string, string>): Buffer {
  const client = index % CLIENTS;
  const all = { Host: 'localhost', 'X-Forwarded-For': `10.77.${client >> 8}.${client & 255}`, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
}
