/** Bytes that WebCrypto takes: never backed by shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Binary strings are made from pieces: a function call takes only so many arguments. */
const PIECE_BYTES = 0x2000;

/** RFC 4648, section 4, with padding. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES));
  }
  return btoa(binary);
}

/** Undefined when it is no base64: it comes from a service that may answer anything. */
export function fromBase64(text: unknown): Bytes | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** RFC 4648, section 5, without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Undefined unless it is the one spelling of that many bytes. */
export function fromBase64url(text: unknown, lengthBytes: number): Bytes | undefined {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  const bytes = fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
  return bytes?.length === lengthBytes && toBase64url(bytes) === text ? bytes : undefined;
}

export function randomBytes(lengthBytes: number): Bytes {
  return crypto.getRandomValues(new Uint8Array(lengthBytes));
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

export function concat(...parts: Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
