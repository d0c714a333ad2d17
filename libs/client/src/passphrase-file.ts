import { fromBase64, fromBase64url, randomBytes, toBase64, toBase64url } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { parseJson } from './fields.ts';
import { derivePassphraseFileKey, SALT_BYTES } from './keys.ts';
import { openMessage, sealMessage } from './message.ts';
import { derivePasswordKey, type PasswordCost } from './password.ts';

// docs/crypto.md, "File under a passphrase".

const FORMAT = 'mayfly passphrase file';
const VERSION = 1;
const NONCE_BYTES = 12;

type PassphraseFile = {
  format: typeof FORMAT;
  version: typeof VERSION;
  content: string;
  salt: string;
  nonce: string;
  ciphertext: string;
};

type Options = {
  /** Says what the text is, so that one kind of file cannot stand in for another. Stands in the file in the open. */
  content: string;
  passphrase: string;
  /** Tests only, as for MayflyClient. */
  unsafePasswordCost?: PasswordCost | undefined;
};

/** A text encrypted under a passphrase, as the JSON of a file. Takes as long as deriving a password's key. */
export async function sealFile(text: string, { content, passphrase, unsafePasswordCost }: Options): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const passwordKey = await derivePasswordKey(passphrase, 'argon2id', salt, unsafePasswordCost);
  const { ciphertext, nonce } = await sealMessage(await derivePassphraseFileKey(passwordKey, salt), content, text);
  const file: PassphraseFile = {
    format: FORMAT,
    version: VERSION,
    content,
    salt: toBase64url(salt),
    nonce: toBase64(nonce),
    ciphertext: toBase64(ciphertext),
  };
  return JSON.stringify(file);
}

/** Throws `bad-source` for another file or version, and `wrong-password` when passphrase and file do not fit. */
export async function openFile(json: string, { content, passphrase, unsafePasswordCost }: Options): Promise<string> {
  const file = (parseJson(json) ?? {}) as Partial<PassphraseFile>; // every field is looked at below
  const salt = fromBase64url(file.salt, SALT_BYTES);
  const [nonce, ciphertext] = [fromBase64(file.nonce), fromBase64(file.ciphertext)];
  const isKnown = file.format === FORMAT && file.version === VERSION && file.content === content;
  if (!isKnown || !salt || nonce?.length !== NONCE_BYTES || !ciphertext) {
    throw new MayflyError('bad-source', { message: 'This file is not one that can be read here' });
  }
  const passwordKey = await derivePasswordKey(passphrase, 'argon2id', salt, unsafePasswordCost);
  const key = await derivePassphraseFileKey(passwordKey, salt);
  return openMessage(key, content, { ciphertext, nonce }).catch((cause) => {
    // A changed file cannot be told from a wrong passphrase.
    throw new MayflyError('wrong-password', { message: 'The passphrase is wrong, or the file was changed', cause });
  });
}
