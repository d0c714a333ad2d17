import { randomBytes } from 'node:crypto';
import type { Request } from './connection.ts';

// Requests of the contract, as bytes ready to send.

/** Different clients, so that the limits work as in life: each has a window and a quota of its own. */
const CLIENTS = 4_000;

export type ServiceLimits = { downloadOptions: number[]; expireOptionsSec: number[] } & {
  noteViewOptions: number[];
  noteExpireOptionsSec: number[];
};

export const AUTH_TOKEN = randomBytes(32).toString('base64url');
const OWNER_TOKEN = randomBytes(32).toString('base64url');
const SALT = randomBytes(16).toString('base64url');
const NOTE_CONTENT = randomBytes(1024).toString('base64');

/** A service with other options than Mayfly's defaults is asked in its own. */
export async function limitsOf(url: string): Promise<ServiceLimits> {
  return (await (await fetch(`${url}/api/config`)).json()) as ServiceLimits; // contract 5
}

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

export function createNote(index: number, { noteViewOptions, noteExpireOptionsSec }: ServiceLimits): Request {
  return postJson('/api/note', index, {
    encryptedContent: NOTE_CONTENT,
    nonce: 'JDdbHrvK4xAQg3wy',
    salt: SALT,
    ownerToken: OWNER_TOKEN,
    authToken: AUTH_TOKEN,
    contentType: 'text',
    maxViews: Math.max(...noteViewOptions),
    expireSec: Math.max(...noteExpireOptionsSec),
    hasPassword: false,
  });
}

export function createUpload(index: number, limits: ServiceLimits, chunk: Buffer, sizeBytes: number): Request {
  const headers = {
    'X-Auth-Token': AUTH_TOKEN,
    'X-Owner-Token': OWNER_TOKEN,
    'X-Salt': SALT,
    'X-Max-Downloads': String(Math.max(...limits.downloadOptions)),
    'X-Expire-Sec': String(Math.max(...limits.expireOptionsSec)),
    'X-File-Count': '1',
    'X-Has-Password': 'false',
    'Content-Length': String(sizeBytes),
  };
  return { head: head('POST', '/api/upload', index, headers), body: { chunk, sizeBytes } };
}

function head(method: string, path: string, index: number, headers: Record<string, string>): Buffer {
  const client = index % CLIENTS;
  const all = { Host: 'localhost', 'X-Forwarded-For': `10.77.${client >> 8}.${client & 255}`, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
}
