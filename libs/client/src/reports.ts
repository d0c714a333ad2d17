import type { ReportKind } from '@mayfly/vocabulary';
import { call } from './api.ts';
import { concat, fromBase64, fromBase64url, randomBytes, toBase64, toBase64url, utf8 } from './bytes.ts';
import type { ClientOptions } from './client.ts';
import type { RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { fetchTransport } from './fetch-transport.ts';
import { openSuite } from './hpke.ts';
import { deriveKeys, SALT_BYTES, SECRET_BYTES } from './keys.ts';
import { parseLink } from './link.ts';
import { hashKey, PUBLIC_KEY_BYTES } from './request-keys.ts';
import { parseRequestLink } from './request-link.ts';

// An entry of its own, to be loaded on demand: it brings HPKE. docs/crypto.md, "Reports".

const VERSION = 1;
const ENC_BYTES = 1 + 1120;
/** Of what is sealed, so that its length does not tell which kind of link it is. */
const FRAGMENT_BYTES = 64;

export type Report = {
  kind: ReportKind;
  /** For the operator, at most 2 KiB. */
  text: string;
  /** Shows the operator what the link opens: what follows its #, and the `reports.publicKey` of config. */
  disclosure?: { fragment: string; publicKey: string } | undefined;
};

/** Contract: POST /api/report/<id>. The service says the same whatever it has under that id. */
export async function sendReport(
  { transport = fetchTransport() }: Pick<ClientOptions, 'transport'>,
  { baseUrl, id }: { baseUrl: string; id: string },
  { kind, text, disclosure }: Report,
  { signal }: RequestOptions = {},
): Promise<void> {
  const sealed = disclosure && (await sealDisclosure(disclosure.publicKey, id, disclosure.fragment));
  const body = JSON.stringify({ kind, text, ...sealed });
  await call(transport, `${baseUrl}/api/report/${encodeURIComponent(id)}`, { method: 'POST', body, signal });
}

/** What links are disclosed to, and what opens them, both base64url. */
export async function newOperatorKeys(): Promise<{ publicKey: string; privateKey: string }> {
  const suite = await openSuite();
  const seed = randomBytes(SECRET_BYTES);
  const { publicKey } = await suite.DeriveKeyPair(seed, false);
  return {
    publicKey: toBase64url(new Uint8Array(await suite.SerializePublicKey(publicKey))),
    privateKey: toBase64url(seed),
  };
}

/** A link's fragment, for the operator alone and for this item, both base64. Throws `bad-answer` for what is no public key. */
export async function sealDisclosure(publicKeyText: string, id: string, fragment: string) {
  const suite = await openSuite();
  const bytes = fromBase64url(publicKeyText, PUBLIC_KEY_BYTES);
  if (!bytes) throw new MayflyError('bad-answer');
  const text = utf8(fragment);
  if (text.length > FRAGMENT_BYTES) throw new MayflyError('damaged-link');
  const publicKey = await suite.DeserializePublicKey(bytes).catch((cause) => {
    throw new MayflyError('bad-answer', { cause });
  });
  const padded = concat(text, new Uint8Array(FRAGMENT_BYTES - text.length));
  const { encapsulatedSecret, ciphertext } = await suite.Seal(publicKey, padded, context(id));
  return {
    enc: toBase64(concat(Uint8Array.of(VERSION), encapsulatedSecret)),
    sealed: toBase64(new Uint8Array(ciphertext)),
  };
}

/** The fragment that was sealed for this item. Throws `newer-format`, and `tampered` for what was not sealed for it and this key. */
export async function openDisclosure(
  privateKeyText: string,
  id: string,
  { enc: encText, sealed: sealedText }: { enc: string; sealed: string },
): Promise<string> {
  const seed = fromBase64url(privateKeyText, SECRET_BYTES);
  const [enc, sealed] = [fromBase64(encText), fromBase64(sealedText)];
  if (enc && enc[0] !== VERSION) throw new MayflyError('newer-format');
  if (!seed || !sealed || enc?.length !== ENC_BYTES) throw new MayflyError('tampered');
  const suite = await openSuite();
  const keyPair = await suite.DeriveKeyPair(seed, false);
  const plaintext = await suite.Open(keyPair, enc.subarray(1), sealed, context(id)).catch((cause) => {
    throw new MayflyError('tampered', { cause });
  });
  return new TextDecoder().decode(plaintext).replace(/\0+$/, '');
}

/**
 * What shows whether a link is that of the item: its auth token, or the hash of a request's key. `password` when only who knows the
 * password can tell. Throws `damaged-link`.
 */
export async function claimOf(link: string, salt: string): Promise<{ authToken: string } | 'password'> {
  const { secret, protection } = await parseLink(link);
  if (protection?.passwordAlgo) return 'password';
  const saltBytes = fromBase64url(salt, SALT_BYTES);
  if (!saltBytes) throw new MayflyError('bad-answer');
  return { authToken: (await deriveKeys(secret, saltBytes)).authToken };
}

/** Whether the link of a request names this public key (base64). Throws `damaged-link`. */
export async function namesKey(link: string, publicKey: string): Promise<boolean> {
  const parsed = parseRequestLink(link);
  const bytes = fromBase64(publicKey);
  if (parsed.role !== 'drop' || !bytes) return false;
  return toBase64url(parsed.keyHash) === toBase64url(await hashKey(bytes));
}

const context = (id: string) => ({ info: utf8(`mayfly v1 report${id}`) });
