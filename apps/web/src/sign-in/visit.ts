// Signing in at a service that asks whoever creates to. Contract 16.2, decision sign-in-without-cookies.

/** What belongs together, kept in this tab while it is at the provider. */
const KEPT = 'mayfly-sign-in';
const CHANNEL = 'mayfly-sign-in';

export type Fault = 'failed' | 'forbidden' | 'unavailable' | 'missing';

export class SignInFault extends Error {
  readonly fault: Fault;
  constructor(fault: Fault) {
    super(fault);
    this.fault = fault;
  }
}

/** Goes to the provider, which sends the browser back here. `isAnother`: not as whom it knows already. */
export async function beginVisit(isAnother: boolean) {
  const visit = { verifier: random(), state: random(), nonce: random() };
  const { verifier, state, nonce } = visit;
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const { url } = await ask<{ url: string }>('/api/session/address', {
    challenge: toBase64url(new Uint8Array(hash)),
    state,
    nonce,
    isAnother,
  });
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(visit));
  } catch {
    throw new SignInFault('failed'); // storage is switched off: nothing would be known on the way back
  }
  location.replace(url);
}

/** The token of who has come back with this answer, to a tab that has begun the visit. */
export async function endVisit(answer: string): Promise<string> {
  const kept = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  if (!kept) throw new SignInFault('failed');
  const { token } = await ask<{ token: string }>('/api/session', { answer, ...JSON.parse(kept) });
  return token;
}

/** Gives a token to the tabs of this browser that wait for one. */
export function handOver(token: string) {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(token);
  channel.close();
}

/** Hears of a token from another tab, until the function that it returns is called. */
export function awaitToken(take: (token: string) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<string>) => take(data);
  return () => channel.close();
}

const FAULTS: Record<number, Fault> = { 400: 'failed', 403: 'forbidden', 404: 'missing' };

async function ask<T>(path: string, body: unknown): Promise<T> {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  if (!answer?.ok) throw new SignInFault(FAULTS[answer?.status ?? 0] ?? 'unavailable');
  return answer.json();
}

const random = () => toBase64url(crypto.getRandomValues(new Uint8Array(32)));

function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}
