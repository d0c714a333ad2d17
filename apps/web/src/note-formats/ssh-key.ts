// Ed25519 keys in the format of OpenSSH (its PROTOCOL.key), so that ssh and ssh-keygen take them as they are.

export type SshKeyPair = {
  /** The file that ssh calls id_ed25519. Not encrypted: the note that carries it is. */
  privateKey: string;
  /** The line for authorized_keys. */
  publicKey: string;
};

export type SshKeyFacts = {
  /** ssh-ed25519, ssh-rsa, ... */
  type: string;
  /** The line for authorized_keys. */
  publicKey: string;
  /** As ssh-keygen -l prints it. */
  fingerprint: string;
};

type Bytes = Uint8Array<ArrayBuffer>;

const MAGIC = 'openssh-key-v1\0';
const TYPE = 'ssh-ed25519';
const PRIVATE_KEY = /^-----BEGIN OPENSSH PRIVATE KEY-----\s([A-Za-z0-9+/=\s]+)-----END OPENSSH PRIVATE KEY-----$/;
const PUBLIC_KEY = /^((?:ssh|ecdsa|sk)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: .*)?$/;
const LINE_CHARACTERS = 70;
const BLOCK_BYTES = 8;
const SEED_BYTES = 32;

/** Throws NotSupportedError in a browser whose WebCrypto has no Ed25519. */
export async function generateSshKey(comment: string): Promise<SshKeyPair> {
  const algorithm = 'Ed25519';
  const { privateKey, publicKey } = (await crypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair;
  const publicBytes = new Uint8Array(await crypto.subtle.exportKey('raw', publicKey));
  // PKCS #8 of an Ed25519 key (RFC 8410) ends with the 32 bytes that the key is made from.
  const seed = new Uint8Array(await crypto.subtle.exportKey('pkcs8', privateKey)).slice(-SEED_BYTES);
  return formatSshKey(seed, publicBytes, comment, crypto.getRandomValues(new Uint8Array(4)));
}

/** `check` is four random bytes that a reader finds twice when it has decrypted rightly. */
export function formatSshKey(seed: Bytes, publicBytes: Bytes, comment: string, check: Bytes): SshKeyPair {
  const oneLine = comment.replace(/\s+/g, ' ').trim();
  const blob = concat(field(TYPE), field(publicBytes));
  const secret = concat(check, check, blob, field(concat(seed, publicBytes)), field(oneLine));
  const padding = Uint8Array.from({ length: -secret.length & (BLOCK_BYTES - 1) }, (_, index) => index + 1);
  const header = concat(utf8(MAGIC), field('none'), field('none'), field(''), uint32(1), field(blob));
  const base64 = toBase64(concat(header, field(concat(secret, padding))));
  const lines = base64.match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g')) ?? [];
  return {
    privateKey: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n'),
    publicKey: `${TYPE} ${toBase64(blob)} ${oneLine}`.trim(),
  };
}

/**
 * What a private key of OpenSSH or a public line says about itself; an encrypted private key, too, since its public half
 * is in the open. Undefined for anything else.
 */
export async function describeSshKey(text: string): Promise<SshKeyFacts | undefined> {
  const [, body] = PRIVATE_KEY.exec(text.trim()) ?? [];
  const [, , line] = PUBLIC_KEY.exec(text.trim()) ?? [];
  const blob = body ? publicBlob(fromBase64(body)) : fromBase64(line ?? '');
  const type = blob && readText(new Fields(blob).next());
  if (!blob || !type || !/^[a-z0-9@.-]+$/.test(type)) return undefined;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', blob));
  const fingerprint = `SHA256:${toBase64(hash).replace(/=+$/, '')}`;
  return { type, publicKey: `${type} ${toBase64(blob)}`, fingerprint };
}

function publicBlob(file: Bytes | undefined): Bytes | undefined {
  if (!file || readText(file.slice(0, MAGIC.length)) !== MAGIC) return undefined;
  const fields = new Fields(file.slice(MAGIC.length));
  for (const _ of ['cipher', 'kdf', 'kdf options']) fields.next();
  fields.skip(4); // how many keys: always one
  return fields.next();
}

/** Reads what `field` writes, one after the other; undefined from where it does not fit any more. */
class Fields {
  #rest: Bytes;

  constructor(bytes: Bytes) {
    this.#rest = bytes;
  }

  next(): Bytes | undefined {
    if (this.#rest.length < 4) return undefined;
    const length = new DataView(this.#rest.buffer, this.#rest.byteOffset).getUint32(0);
    this.skip(4);
    if (this.#rest.length < length) {
      this.#rest = new Uint8Array(0);
      return undefined;
    }
    const value = this.#rest.slice(0, length);
    this.skip(length);
    return value;
  }

  skip(lengthBytes: number) {
    this.#rest = this.#rest.slice(lengthBytes);
  }
}

function field(content: string | Bytes): Bytes {
  const bytes = typeof content === 'string' ? utf8(content) : content;
  return concat(uint32(bytes.length), bytes);
}

function uint32(number: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number);
  return bytes;
}

function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

function readText(bytes: Bytes | undefined): string | undefined {
  return bytes && new TextDecoder().decode(bytes);
}

function concat(...parts: Bytes[]): Bytes {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function toBase64(bytes: Bytes): string {
  return btoa(String.fromCharCode(...bytes));
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined; // a stranger's text need not be a key
  }
}
