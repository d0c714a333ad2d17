import type { LookupAddress, LookupOptions } from 'node:dns';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { isAllowed } from './addresses.ts';
import type { Names } from './names.ts';

export type Outgoing = { url: string; headers: Record<string, string | number>; body: Buffer | string };
export type Wire = {
  names: Names;
  /** Networks beside the public internet. */
  networks: string[];
  /** How long a request may take in all, and whose certificates are believed besides: for tests. */
  timeoutMs?: number;
  ca?: string;
};

/** The address is none that notices may go to. Nothing was sent. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
}

const TIMEOUT_MS = 5_000;

/**
 * Sends one request and resolves with the status of its answer, the rest of which nobody reads. The name is looked up once, every one of its
 * addresses must be allowed, and the connection goes to one of these. No redirect is followed. Rejects when it takes too long in all.
 */
export async function post(outgoing: Outgoing, { names, networks, timeoutMs = TIMEOUT_MS, ca }: Wire): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs);
  const url = new URL(outgoing.url);
  if (url.protocol !== 'https:') throw new AddressRefused('it is not https');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [host] : await untilAborted(names(host), signal);
  if (addresses.length === 0 || !addresses.every((address) => isAllowed(address, networks))) {
    throw new AddressRefused('an address is not allowed');
  }
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request({
    method: 'POST',
    host,
    port: url.port || 443,
    path: url.pathname + url.search,
    headers: outgoing.headers,
    agent: false,
    lookup: (_host: string, { all }: LookupOptions, found: Found) =>
      all ? found(null, pinned) : found(null, pinned[0]?.address ?? '', pinned[0]?.family),
    signal,
    ...(ca ? { ca } : {}),
  });
  sent.on('response', (answer) => {
    answer.on('error', () => {}); // what is cut off here
    answer.destroy();
    resolve(answer.statusCode ?? 0);
  });
  sent.on('error', reject);
  sent.on('close', () => reject(new Error('the connection was closed')));
  sent.end(outgoing.body);
  return promise;
}

type Found = (error: null, address: string | LookupAddress[], family?: number) => void;

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason));
  return Promise.race([work, promise]);
}
